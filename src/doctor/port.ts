// The server's port on this machine.
import { createServer } from "node:net";
import { directUrl } from "../config/local-url.ts";
import type { Config } from "../config/settings.ts";
import { parseListen } from "../config/values.ts";
import { reasonOf } from "../errors.ts";
import { type Finding, ok, problem, warning } from "./finding.ts";
import { ask, isOurs, TIMEOUT } from "./request.ts";

/** @param token one that is in the database; null to leave out whether the server there uses that database */
export async function checkPort({ host, port }: Pick<Config, "host" | "port">, token: string | null): Promise<Finding> {
  if (port === 0) return ok("port", "a free one at each start");
  const foreign = await findForeign(
    "port",
    host,
    "Set PODKEEP_HOST to an address of this machine, or to 0.0.0.0 for all",
  );
  if (foreign) return foreign;
  const url = directUrl({ host, port });
  const other = "Stop the other program, or set PODKEEP_PORT";
  try {
    const response = await ask(url);
    if (isOurs(response)) return (await findUnready(url)) ?? (await checkToken(url, token));
    return problem("port", `another program responds at ${url} (${response.status})`, other);
  } catch {
    const reason = await whyNotListen(host, port);
    if (reason) return problem("port", `nothing responds at ${url}, and podkeep can't listen there: ${reason}`, other);
    return warning("port", `nothing responds at ${url}`, "Start the server");
  }
}

/** A port of metrics that another program has keeps the server from starting. */
export async function checkMetricsPort({ metrics_listen }: Pick<Config, "metrics_listen">): Promise<Finding[]> {
  if (metrics_listen === undefined) return [];
  const { host, port } = parseListen(metrics_listen);
  const about = "metrics port";
  const foreign = await findForeign(about, host, "Set PODKEEP_METRICS_LISTEN to an address of this machine");
  if (foreign) return [foreign];
  const url = directUrl({ host, port });
  const reason = port === 0 ? null : await whyNotListen(host, port);
  if (reason === null) return [ok(about, port === 0 ? "a free one at each start" : `nothing listens at ${url} now`)];
  const response = await fetch(`${url}/metrics`, { signal: AbortSignal.timeout(TIMEOUT) }).catch(() => null);
  if (response && (await response.text()).includes("podkeep_")) return [ok(about, `metrics are at ${url}/metrics`)];
  const advice = "Stop the other program, or set PODKEEP_METRICS_LISTEN";
  return [problem(about, `podkeep can't listen at ${url}: ${reason}`, advice)];
}

/** Whether this machine lacks an address: it may have another one since it was restarted. */
async function findForeign(about: string, host: string, advice: string): Promise<Finding | null> {
  const isOwn = (await whyNotListen(host, 0)) === null;
  if (isOwn) return null;
  return problem(about, `podkeep can't listen on ${host}: this machine does not have that address`, advice);
}

/** Such as a server whose database file was moved or replaced, or whose PostgreSQL hangs. */
async function findUnready(url: string): Promise<Finding | null> {
  const response = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(TIMEOUT) }).catch(() => null);
  if (response?.status === 200) return null;
  const result = response ? `responds ${response.status}` : "does not respond";
  const advice =
    "Its log has the reason. If the database file was moved or replaced, put it back or restart the server";
  return problem("port", `the podkeep at ${url} can't use its database (/readyz ${result})`, advice);
}

async function checkToken(url: string, token: string | null): Promise<Finding> {
  const response = token === null ? null : await ask(url, token);
  if (response?.status !== 401) return ok("port", `podkeep responds at ${url}`);
  const advice = "Run the doctor with the settings of that server (--data-dir or --database-url)";
  return problem("port", `the podkeep at ${url} uses another database`, advice);
}

function whyNotListen(host: string, port: number): Promise<string | null> {
  const probe = createServer();
  return new Promise((resolve) => {
    probe.once("error", (error) => resolve(reasonOf(error)));
    probe.listen(port, host, () => probe.close(() => resolve(null)));
  });
}
