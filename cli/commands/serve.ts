// `podkeep serve`: opens the app, starts HTTP and the deletion worker; owns signals and the order of the drain.
import { constants } from "node:os";
import { resolve } from "node:path";
import type { Server } from "bun";
import type { Command } from "commander";
import type { Logger } from "pino";
import type { App } from "../../src/app.ts";
import type { Config, LoadedSettings } from "../../src/config/settings.ts";
import { parseListen } from "../../src/config/values.ts";
import type { MetricsEndpoint } from "../../src/http/metrics.ts";
import type { Http } from "../../src/http/server.ts";
import { listen } from "../../src/server/listen.ts";
import type { Log } from "../../src/server/log.ts";
import { supervise } from "../../src/systemd/watchdog.ts";
import { VERSION } from "../../src/version.ts";
import { ADDRESS_SETTINGS, addSettings, GLOBAL_SETTINGS, SERVE_SETTINGS, settingsOf } from "../flags.ts";
import { commandLine } from "../invocation.ts";
import { wantsJson } from "../terminal/output.ts";

export function addServeCommand(program: Command): void {
  const command = program
    .command("serve")
    .description("Run the server. Every setting is a flag, and PODKEEP_… in the environment")
    .addHelpText("after", "\nExample: podkeep serve --host 0.0.0.0 --public-url https://podcasts.example.org")
    .action(() => serve(command));
  addSettings(command, SERVE_SETTINGS);
}

async function serve(command: Command): Promise<void> {
  const settings = settingsOf(command);
  const forPeople = process.stdout.isTTY && !wantsJson(command);
  const { createLog } = await import("../../src/server/log.ts");
  const { log, show, end } = createLog(settings.config.log_level, forPeople);
  const { app, servers, supervisor, endBackups, signal } = await start(settings, log, forPeople ? show : undefined);
  await signal;
  supervisor.stopping();
  endBackups();
  await drain(servers, app);
  log.info("stopped");
  await end();
}

async function start(settings: LoadedSettings, log: Logger, show?: Log["show"]) {
  const { config } = settings;
  const metrics = config.metrics_listen
    ? (await import("../../src/http/metrics.ts")).createMetricsEndpoint()
    : undefined;
  const opened = Promise.withResolvers<{ app: App; http: Http }>();
  const servers: Server<undefined>[] = [];
  try {
    // The ports come first: where one is taken, no file has been touched. Who asks meanwhile waits a moment.
    servers.push(listenForApps(config, opened.promise));
    if (metrics) servers.push(listenForMetrics(config, metrics, opened.promise));
    const { openApp } = await import("../../src/app.ts");
    const { createHttp } = await import("../../src/http/server.ts");
    const { scheduleBackups } = await import("../../src/backups/schedule.ts");
    const app = await openApp(config, { log, use: "server", metrics: metrics?.metrics });
    const supervisor = await supervise(app);
    const signal = signalled(log);
    opened.resolve({ app, http: createHttp(app) });
    app.worker.start();
    const endBackups = scheduleBackups(config, log);
    await welcome(app, settings, servers, show);
    supervisor.ready();
    return { app, servers, supervisor, endBackups, signal };
  } catch (error) {
    for (const server of servers) await server.stop(true);
    throw error;
  }
}

type Opened = Promise<{ app: App; http: Http }>;

function listenForApps({ host, port }: Config, opened: Opened): Server<undefined> {
  let http: Http | undefined;
  opened.then((one) => {
    http = one.http;
  });
  return listen({ host, port, flag: "--port" }, (request, server) => {
    // Few requests need the address, and it costs as much as a read from the database.
    const peer = {
      get address() {
        return server.requestIP(request)?.address;
      },
    };
    return http ? http.fetch(request, peer) : opened.then((one) => one.http.fetch(request, peer));
  });
}

function listenForMetrics(
  { metrics_listen = "" }: Config,
  metrics: MetricsEndpoint,
  opened: Opened,
): Server<undefined> {
  const address = parseListen(metrics_listen);
  return listen({ ...address, flag: "--metrics-listen" }, async (request) =>
    metrics.fetch((await opened).app, request),
  );
}

async function welcome(
  app: App,
  settings: LoadedSettings,
  [server, metrics]: Server<undefined>[],
  show?: Log["show"],
): Promise<void> {
  const { hasUsers } = await import("../../src/services/users.ts");
  const { config } = settings;
  const reached = { ...settings, config: { ...config, port: server?.port ?? config.port } };
  const data = describeLocation(config);
  const listening = `podkeep ${VERSION} listens on ${server?.url.origin}, data in ${data}`;
  const steps = [
    commandLine("user create me", settings, GLOBAL_SETTINGS),
    commandLine("token issue me", reached, [...GLOBAL_SETTINGS, ...ADDRESS_SETTINGS]),
  ];
  const wanting = (await hasUsers(app)) ? "" : "There is no user yet. This makes one and its first token:";
  if (show) {
    const lines = wanting ? `\n${wanting}\n\n${steps.map((step) => `    ${step}\n`).join("")}\n` : "";
    show(`${listening}\n${lines}`);
  } else {
    app.log.info(listening);
    if (wanting) app.log.info(`${wanting} ${steps.join(" && ")}`);
  }
  if (metrics) app.log.info(`metrics at ${metrics.url.origin}/metrics`);
}

const describeLocation = ({ location, data_dir }: Config) =>
  "file" in location ? resolve(data_dir) : `PostgreSQL at ${new URL(location.url).host}`;

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
async function drain(servers: Server<undefined>[], app: App): Promise<void> {
  await Promise.race([Promise.all(servers.map((server) => server.stop())), Bun.sleep(app.config.drain_timeout)]);
  for (const server of servers) await server.stop(true);
  await app.close();
}
