// `podkeep serve`: opens the app, starts HTTP and the deletion worker; owns signals and the order of the drain.
import { constants } from "node:os";
import { resolve } from "node:path";
import type { Server } from "bun";
import type { Command } from "commander";
import type { Logger } from "pino";
import type { App } from "../src/app.ts";
import type { Config, Settled } from "../src/config.ts";
import { DomainError, messageOf } from "../src/errors.ts";
import type { Http } from "../src/http/server.ts";
import { VERSION } from "../src/version.ts";
import { commandLine } from "./invocation.ts";
import { wantsJson } from "./output.ts";
import { ADDRESS_SETTINGS, addSettings, GLOBAL_SETTINGS, SERVE_SETTINGS, settingsOf } from "./settings.ts";

/** Seconds without a byte after which a connection is closed; it also bounds how long a handler may run. */
const IDLE_TIMEOUT = 60;

export function addServeCommand(program: Command): void {
  const command = program
    .command("serve")
    .description("Run the server. Every setting is a flag, and PODKEEP_… in the environment")
    .addHelpText("after", "\nExample: podkeep serve --host 0.0.0.0 --public-url https://podcasts.example.org")
    .action(() => serve(command));
  addSettings(command, SERVE_SETTINGS);
}

async function serve(command: Command): Promise<void> {
  const settled = settingsOf(command);
  const { config } = settled;
  const forPeople = process.stdout.isTTY && !wantsJson(command);
  const { createLog } = await import("./log.ts");
  const log = createLog(config.log_level, forPeople);
  const { promise: http, resolve: ready } = Promise.withResolvers<Http>();
  // The port comes first: where it is taken, no file has been touched. Who asks meanwhile waits a moment.
  const server = listen(config, http);
  let app: App;
  let endBackups: () => void;
  try {
    const { openApp } = await import("../src/app.ts");
    const { createHttp } = await import("../src/http/server.ts");
    app = await openApp(config, { log, use: "server" });
    ready(createHttp(app));
    app.worker.start();
    const { scheduleBackups } = await import("./schedule.ts");
    endBackups = scheduleBackups(config, log);
    await welcome(app, settled, server.url.origin, forPeople);
  } catch (error) {
    await server.stop(true);
    throw error;
  }
  await signalled(log);
  endBackups();
  await drain(server, app);
  log.info("stopped");
  process.exit(0);
}

/** @throws DomainError "config" where the address can't be had */
function listen({ host, port }: Config, http: Promise<Http>): Server<undefined> {
  try {
    return Bun.serve({
      hostname: host,
      port,
      reusePort: false,
      development: false,
      idleTimeout: IDLE_TIMEOUT,
      // The app has its own limit, with an answer that clients can read.
      maxRequestBodySize: Number.MAX_SAFE_INTEGER,
      fetch: async (request, server) => (await http).fetch(request, { address: server.requestIP(request)?.address }),
    });
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : "";
    const taken = `Port ${port} on ${host} is taken: stop what uses it, or choose another with --port`;
    const reason = code === "EADDRINUSE" ? taken : `Can't listen on ${host}, port ${port}: ${messageOf(error)}`;
    throw new DomainError("config", reason, { cause: error });
  }
}

async function welcome(app: App, settled: Settled, address: string, forPeople: boolean): Promise<void> {
  const { hasUsers } = await import("../src/services/users.ts");
  const { config } = settled;
  const data = config.database_url ? `PostgreSQL at ${new URL(config.database_url).host}` : resolve(config.data_dir);
  const listening = `podkeep ${VERSION} listens on ${address}, data in ${data}`;
  const steps = [
    commandLine("user create me", settled, GLOBAL_SETTINGS),
    commandLine("token issue me", settled, [...GLOBAL_SETTINGS, ...ADDRESS_SETTINGS]),
  ];
  const wanting = (await hasUsers(app)) ? "" : "There is no user yet. This makes one and its first token:";
  if (forPeople) {
    const lines = wanting ? `\n${wanting}\n\n${steps.map((step) => `    ${step}\n`).join("")}\n` : "";
    process.stdout.write(`${listening}\n${lines}`);
  } else {
    app.log.info(listening);
    if (wanting) app.log.info(`${wanting} ${steps.join(" && ")}`);
  }
}

/** Resolves at the first signal to end; the second one ends the process at once. */
function signalled(log: Logger): Promise<void> {
  return new Promise((first) => {
    let count = 0;
    for (const signal of ["SIGTERM", "SIGINT"] as const) {
      process.on(signal, () => {
        if (++count > 1) process.exit(128 + constants.signals[signal]);
        log.info(`${signal}: finishing what is under way`);
        first();
      });
    }
  });
}

// New connections are refused first, then requests under way end, then the worker's record, then the database.
async function drain(server: Server<undefined>, app: App): Promise<void> {
  await Promise.race([server.stop(), Bun.sleep(app.config.drain_timeout)]);
  await server.stop(true);
  await app.close();
}
