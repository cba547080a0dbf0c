// The server process: start, welcome, signals, shutdown.
import { constants } from "node:os";
import type { Server } from "bun";
import { type App, openApp } from "../app.ts";
import { newestBackupTime } from "../backups/backups.ts";
import { scheduleBackups } from "../backups/schedule.ts";
import { compareWithBuild, systemClock } from "../clock.ts";
import { appUrl, isLocal } from "../config/app-url.ts";
import { containerEngine } from "../config/container.ts";
import { isWildcard } from "../config/local-url.ts";
import { describeLocation } from "../config/location.ts";
import type { Config } from "../config/settings.ts";
import { parseListen } from "../config/values.ts";
import { messageOf } from "../errors.ts";
import type { MetricsEndpoint } from "../http/metrics.ts";
import { pathOf } from "../http/path.ts";
import { createHttp, type Http } from "../http/server.ts";
import type { FindFeed } from "../http/shared.ts";
import type { Logger } from "../log.ts";
import type { LookupWorker } from "../lookup/worker.ts";
import { prepareSetup } from "../services/accounts/setup.ts";
import { hasUsers } from "../services/accounts/users.ts";
import { connectSystemd } from "../systemd/notify.ts";
import { startWatchdog } from "../systemd/watchdog.ts";
import { beginTogether } from "../turns.ts";
import { VERSION } from "../version.ts";
import { within } from "../within.ts";
import { watchFiles } from "./file-watch.ts";
import { listen } from "./listen.ts";
import { createLog, type Log } from "./log.ts";
import { startPruning } from "./pruning.ts";

interface RunOptions {
  /** Whether a person reads the output: lines for people instead of JSON. */
  forPeople: boolean;
  /** The arguments that start this program, for its child processes. */
  program: string[];
  /** What is wrong with the settings, for the log. */
  warnings: string[];
  /** The command line that creates the first user and token of the server at this port. */
  firstStep(port: number): string;
}

/**
 * Runs the server until SIGTERM or SIGINT.
 * @throws DomainError "config" if the settings don't let it start, "conflict" if another process uses the data,
 *   "unavailable" if a port or the database is not available now
 */
export async function runServer(config: Config, options: RunOptions): Promise<void> {
  const output = createLog(config.log_level, options.forPeople);
  for (const warning of options.warnings) output.log.warn(warning);
  warnOfClock(output.log);
  const { signal, stop } = await start(config, options, output);
  await signal;
  await stop();
  output.log.info("stopped");
  await output.end();
}

/** Without it, nothing would say why sessions and links are over, or why all changes are of 1970. */
function warnOfClock(log: Logger): void {
  const now = systemClock.now();
  const difference = compareWithBuild(now);
  if (difference === null) return;
  log.warn(`The clock may be wrong: ${new Date(now).toISOString()} is ${difference} the day of this build`);
}

async function start(config: Config, options: RunOptions, { log, show }: Log) {
  const metrics = config.metrics_listen
    ? (await import("../http/metrics.ts")).createMetricsEndpoint(() => newestBackupTime(config, systemClock.now()))
    : undefined;
  const opened = Promise.withResolvers<Opened>();
  const servers: Server<undefined>[] = [];
  try {
    // Ports before files: if a port is taken, nothing is created. Early requests wait.
    const server = await listenForApps(config, opened.promise);
    servers.push(server);
    if (metrics) servers.push(await listenForMetrics(config, metrics, opened.promise));
    const { port = config.port } = server;
    const app = await openApp({ ...config, port }, { log, use: "server", metrics: metrics?.metrics });
    const systemd = connectSystemd();
    const signal = receiveSignal(log);
    opened.resolve({ app, http: createHttp(app, feedFinder(app)) });
    app.deletionWorker.start();
    app.mover.start();
    const endBackups = scheduleBackups(config, options.program, log, {
      findLoss: () => app.database.findLoss(),
      failed: () => metrics?.metrics.backupFailed(),
    });
    const lookups = await startLookups(app);
    const endPruning = startPruning(app);
    const endWatch = watchFiles(app);
    await welcome(app, servers, options, show);
    systemd.ready();
    compileSoon();
    const stopWatchdog = startWatchdog(app, systemd);
    const stop = async () => {
      stopWatchdog();
      systemd.stopping();
      endBackups();
      endWatch();
      const lookedUp = lookups?.stop();
      await endPruning();
      await drain(servers, app, lookedUp);
    };
    return { signal, stop };
  } catch (error) {
    for (const server of servers) await server.stop(true);
    throw error;
  }
}

/** Milliseconds after the start in which code still runs once. */
const STARTING = 1000;

/** The executable starts with a compiler that waits for code that runs often (scripts/build.ts). */
function compileSoon(): void {
  setTimeout(() => Bun.unsafe.setJITPolicy(1), STARTING).unref();
}

/** Characters of a credential that no two have in common. */
const DISTINCT = 24;

interface Opened {
  app: App;
  http: Http;
}

function listenForApps({ host, port }: Config, opened: Promise<Opened>): Promise<Server<undefined>> {
  return listen({ host, port, flag: "--port" }, async (request, connection) => {
    // Another server may migrate the database for minutes, in which nothing that watches this process must take it for dead.
    // A proxy may keep the public URL's path before this one.
    if (Bun.peek.status(opened) === "pending" && pathOf(request).endsWith("/livez")) return new Response("ok");
    await beginTogether(credentialOf(request));
    return (await opened).http.fetch(request, connection);
  });
}

/** The end of a request's credential, which tells whose it is: its beginning can be written in many ways, and be long. */
const credentialOf = ({ headers }: Request) =>
  (headers.get("authorization") ?? headers.get("cookie") ?? "").slice(-DISTINCT);

function listenForMetrics(
  { metrics_listen = "" }: Config,
  metrics: MetricsEndpoint,
  opened: Promise<Opened>,
): Promise<Server<undefined>> {
  const address = parseListen(metrics_listen);
  return listen({ ...address, flag: "--metrics-listen" }, async (request) =>
    metrics.fetch((await opened).app, request),
  );
}

async function welcome(
  app: App,
  [server, metrics]: Server<undefined>[],
  { forPeople, firstStep }: RunOptions,
  show: Log["show"],
): Promise<void> {
  const { config } = app;
  const listening = `podkeep ${VERSION} listens on ${server?.url.origin}, data in ${describeLocation(config.location)}`;
  const setup = (await hasUsers(app)) ? [] : await firstSteps(app, firstStep);
  if (forPeople)
    show([`${listening}\n`, ...setup.map(({ about, step }) => `${about}\n\n    ${step}\n`), ""].join("\n"));
  else {
    app.log.info(listening);
    for (const { about, step } of setup) app.log.info(`${about} ${step}`);
  }
  if (metrics) app.log.info(`metrics at ${metrics.url.origin}/metrics`);
}

const ELSEWHERE = " (if your browser is on another computer, put this computer's address in place of 127.0.0.1)";

/** How to create the first user: by a link, and by a command. */
async function firstSteps(app: App, firstStep: RunOptions["firstStep"]) {
  const step = firstStep(app.config.port);
  const command = { about: "Or create one in a terminal, with a token for the first app:", step };
  try {
    const code = await prepareSetup(app);
    if (code === null) return [];
    const url = appUrl(app.config);
    // The addresses of a container are of no use outside of it.
    const isOpen = isWildcard(app.config.host);
    const elsewhere = isOpen && isLocal(url) && containerEngine() ? ELSEWHERE : "";
    const about = `There is no user yet. Open this link to create the first one${elsewhere}:`;
    return [{ about, step: `${url}/setup/${code}` }, command];
  } catch (error) {
    app.log.error({ reason: messageOf(error) }, "the setup link can't be created: fix the cause, then restart podkeep");
    return [command];
  }
}

/** Resolves at the first signal; the second one ends the process at once. */
function receiveSignal(log: Logger): Promise<void> {
  return new Promise((first) => {
    let count = 0;
    for (const signal of ["SIGTERM", "SIGINT"] as const) {
      process.on(signal, () => {
        if (++count > 1) process.exit(128 + constants.signals[signal]);
        log.info(`${signal} received, shutting down`);
        first();
      });
    }
  });
}

// New connections are refused first, then running requests end, then the workers, then the database closes.
async function drain(servers: Server<undefined>[], app: App, lookedUp?: Promise<void>): Promise<void> {
  const stopped = Promise.all(servers.map((server) => server.stop()));
  await within(app.config.drain_timeout, Promise.race([stopped, responded(servers)]));
  for (const server of servers) await server.stop(true);
  await lookedUp;
  await app.close();
}

/** Milliseconds in which the last bytes of responses leave. */
const FLUSH = 250;

// Bun's stop() also waits for the rest of refused bodies, which their clients may never send.
async function responded(servers: Server<undefined>[]): Promise<void> {
  do await Bun.sleep(FLUSH);
  while (servers.some(({ pendingRequests }) => pendingRequests > 0));
}

function feedFinder({ config }: App): FindFeed | undefined {
  if (config.feed_lookup === "off") return;
  return async (address) => (await import("../lookup/find-feed.ts")).findFeed(config, address);
}

// Loaded only if it is on, which keeps idle memory small.
async function startLookups(app: App): Promise<LookupWorker | null> {
  if (app.config.feed_lookup === "off") return null;
  const { LookupWorker } = await import("../lookup/worker.ts");
  const worker = new LookupWorker(app);
  worker.start();
  return worker;
}
