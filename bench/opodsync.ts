// oPodSync, a server in PHP (https://github.com/kd2org/opodsync), from its source.
import { Database } from "bun:sqlite";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { ask } from "./client.ts";
import { feedUrl } from "./data.ts";
import { freePort, requireTool, type Server, startProgram } from "./programs.ts";

interface Options {
  subscriptions: number;
  /** Plays of as many episodes, in the first 100 feeds. */
  plays: number;
}

const USER = "user0";
const PASSWORD = "bench-password";
/** Seconds since 1970. */
const CHANGED = Date.UTC(2026, 0, 1) / 1000;

/**
 * Starts it with a new database in `folder`.
 * @param source directory of its source
 * @returns the server, and the header of a session of its user
 * @throws Error if PHP is missing, or the server ends or stays silent
 */
export async function startOpodsync(
  source: string,
  folder: string,
  { subscriptions, plays }: Options,
): Promise<{ server: Server; headers: { Cookie: string } }> {
  requireTool("php", "php-cli php-sqlite3 php-xml");
  mkdirSync(folder, { recursive: true });
  const [address, root] = [`127.0.0.1:${freePort()}`, join(source, "server")];
  const settings = ["-d", "opcache.enable=1", "-d", "opcache.enable_cli=1"];
  const server = await startProgram(["php", ...settings, "-S", address, "-t", root, join(root, "index.php")], {
    url: `http://${address}`,
    first: "/",
    log: join(folder, "php.log"),
    env: { DATA_ROOT: folder },
  });
  await insert(join(folder, "data.sqlite"), { subscriptions, plays });
  const login = await ask(`${server.url}/api/2/auth/${USER}/login.json`, {
    method: "POST",
    headers: { Authorization: `Basic ${btoa(`${USER}:${PASSWORD}`)}` },
  });
  if (!login.ok) throw new Error(`oPodSync answered the login with ${login.status}: ${await login.text()}`);
  const cookies = login.headers.getSetCookie().map((cookie) => cookie.split(";", 1)[0]);
  return { server, headers: { Cookie: cookies.join("; ") } };
}

async function insert(file: string, { subscriptions, plays }: Options): Promise<void> {
  const hash = await Bun.password.hash(PASSWORD, { algorithm: "bcrypt", cost: 10 });
  const db = new Database(file, { readwrite: true });
  const insertFeed = db.query("insert into subscriptions (user, url, changed) values (1, ?, ?)");
  const insertPlay = db.query(
    "insert into episodes_actions (user, subscription, url, changed, action, data) values (1, ?, ?, ?, 'play', ?)",
  );
  db.transaction(() => {
    // PHP names the same algorithm 2y.
    db.run("insert into users (name, password) values (?, ?)", [USER, hash.replace("$2b$", "$2y$")]);
    for (let n = 0; n < subscriptions; n++) insertFeed.run(feedUrl("bench", n), CHANGED);
    for (let n = 0; n < plays; n++) {
      const url = `https://media.example.com/${n}/episode.mp3`;
      const details = { device: "tablet", guid: `guid-${n}`, started: 0, position: 600, total: 3600 };
      insertPlay.run((n % 100) + 1, url, CHANGED, JSON.stringify(details));
    }
  })();
  db.close();
}
