// The server's port on this machine.
import { createServer } from "node:net";
import { localUrl } from "../config/local-url.ts";
import type { Config } from "../config/settings.ts";
import { reasonOf } from "../errors.ts";
import { type Finding, ok, problem, warning } from "./finding.ts";
import { ask, isOurs } from "./request.ts";

export async function checkPort({ host, port }: Pick<Config, "host" | "port">): Promise<Finding> {
  if (port === 0) return ok("port", "a free one at each start");
  const url = localUrl({ host, port });
  const other = "Stop the other program, or set PODKEEP_PORT";
  try {
    const response = await ask(url);
    if (isOurs(response)) return ok("port", `podkeep responds at ${url}`);
    return problem("port", `another program responds at ${url} (${response.status})`, other);
  } catch {
    const reason = await whyNotListen(host, port);
    if (reason) return problem("port", `nothing responds at ${url}, and podkeep can't listen there: ${reason}`, other);
    return warning("port", `nothing responds at ${url}`, "Start the server");
  }
}

function whyNotListen(host: string, port: number): Promise<string | null> {
  const probe = createServer();
  return new Promise((resolve) => {
    probe.once("error", (error) => resolve(reasonOf(error)));
    probe.listen(port, host, () => probe.close(() => resolve(null)));
  });
}
