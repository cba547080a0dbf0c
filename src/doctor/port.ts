// The server's port on this machine.
import { createServer } from "node:net";
import { localAddress } from "../config/local-url.ts";
import type { Config } from "../config/settings.ts";
import { messageOf } from "../errors.ts";
import { type Finding, ok, problem, warning } from "./finding.ts";
import { ask, isOurs } from "./request.ts";

export async function checkPort({ host, port }: Pick<Config, "host" | "port">): Promise<Finding> {
  if (port === 0) return ok("port", "A free one is taken at each start");
  const url = localAddress({ host, port });
  const other = `Stop what uses it, or choose another one with PODKEEP_PORT`;
  try {
    const response = await ask(url);
    if (isOurs(response)) return ok("port", `podkeep answers at ${url}`);
    return problem("port", `Something else answers at ${url}, with ${response.status}`, other);
  } catch {
    const reason = await whyNotListen(host, port);
    if (reason) return problem("port", `Nothing answers at ${url}, and it can't be listened on: ${reason}`, other);
    return warning("port", `Nothing answers at ${url}`, "Start the server");
  }
}

function whyNotListen(host: string, port: number): Promise<string | null> {
  const probe = createServer();
  return new Promise((resolve) => {
    probe.once("error", (error) => resolve(messageOf(error)));
    probe.listen(port, host, () => probe.close(() => resolve(null)));
  });
}
