// Several server processes on one database, and clients that use all of them.
import { readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type App, openApp } from "../../src/app.ts";
import type { SettingName } from "../../src/config/setting-list.ts";
import { readConfig } from "../../src/config/settings.ts";
import { issueToken } from "../../src/services/accounts/tokens.ts";
import { createUser } from "../../src/services/accounts/users.ts";
import { actAsAdmin } from "../../src/services/actor.ts";
import { walkPages } from "./pages.ts";
import { PROGRAM } from "./program.ts";
import { addressIn, track } from "./start-server.ts";

export interface Process {
  pid: number;
  address: string;
  kill(): Promise<void>;
}

export interface Cluster {
  /** The same database in the test's process, for what an admin does. */
  app: App;
  processes: Process[];
  client(name: string): Promise<Client>;
  close(): Promise<void>;
}

type Settings = Partial<Record<SettingName, string>>;

/** Starts `podkeep serve`. Resolves when it listens. */
export async function startProcess(settings: Settings): Promise<Process> {
  const flags = Object.entries(settings).map(([name, value]) => `--${name.replaceAll("_", "-")}=${value}`);
  const command = [...PROGRAM, "serve", "--port=0", ...flags];
  // To a file, because a pipe that is not read fills up.
  const file = join(tmpdir(), `podkeep-serve-${crypto.randomUUID()}.log`);
  const log = Bun.file(file);
  const child = track(Bun.spawn(command, { stdout: log, stderr: log }));
  const address = await addressIn(() => readFileSync(file, "utf8"), child);
  const kill = async () => {
    child.kill("SIGKILL");
    await child.exited;
    rmSync(file, { force: true });
  };
  return { pid: child.pid, address, kill };
}

export async function startCluster(size: number, settings: Settings): Promise<Cluster> {
  const app = await openApp(readConfig(settings, {}).config);
  const processes = await Promise.all(Array.from({ length: size }, () => startProcess(settings)));
  return {
    app,
    processes,
    async client(name) {
      await createUser(app, name);
      const { id, token } = await issueToken(app, await actAsAdmin(app, name, "test"), {
        label: "test",
        scope: "write",
        expires_at: null,
      });
      return new Client(processes, token, id);
    },
    async close() {
      await Promise.all(processes.map((one) => one.kill()));
      await app.close();
    },
  };
}

export interface Reply {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  body: any;
}

/** Sends requests to the processes in turn, as a load balancer does. */
export class Client {
  #turn = 0;

  constructor(
    readonly processes: Process[],
    readonly token: string,
    readonly token_id: string,
  ) {}

  /** @param at index of the process; default: the next one */
  async request(method: string, path: string, body?: unknown, at = this.#turn++): Promise<Reply> {
    const { address } = this.processes[at % this.processes.length] as Process;
    const response = await fetch(address + path, {
      method,
      headers: { Authorization: `Bearer ${this.token}`, "Content-Type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const json = response.headers.get("content-type")?.startsWith("application/json");
    return { status: response.status, body: json ? await response.json() : await response.text() };
  }

  add(feed_url: string, guid?: string): Promise<Reply> {
    return this.request("POST", "/subscriptions", { subscriptions: [{ feed_url, guid }] });
  }
}

// biome-ignore lint/suspicious/noExplicitAny: as above
type Item = any;

const placeOf = ({ subscription_changed, guid_changed = "", deleted = "" }: Item): string =>
  [subscription_changed, guid_changed, deleted].sort().at(-1);

/** A client that reads only what changed since its last read. */
export class Reader {
  readonly known = new Map<string, Item>();
  #since = "";

  constructor(
    private readonly client: Client,
    private readonly per_page: number,
  ) {}

  get guids(): string[] {
    return [...this.known.keys()].sort();
  }

  /** Reads to the end of the change feed, each page from another process. @returns false if a response is 503 before */
  async catchUp(): Promise<boolean> {
    let latest = this.#since;
    const read = async (link: string) => {
      const { pathname, search } = new URL(link, "http://any");
      const { status, body } = await this.client.request("GET", pathname + search);
      return { status, ...body };
    };
    const pages = walkPages(`/subscriptions?since=${this.#since}&per_page=${this.per_page}`, read);
    for await (const { status, subscriptions } of pages) {
      if (status === 503) return false;
      for (const item of subscriptions) {
        if (item.new_guid) this.known.delete(item.guid);
        this.known.set(item.new_guid ?? item.guid, { ...item, guid: undefined, new_guid: undefined });
        if (placeOf(item) > latest) latest = placeOf(item);
      }
    }
    this.#since = latest;
    return true;
  }
}
