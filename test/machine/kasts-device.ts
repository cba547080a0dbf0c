// The real Kasts of Debian trixie on a device of a user: its own sync, without windows.
import { Database } from "bun:sqlite";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { debianRoot, must, scratchPath } from "./debian.ts";

/** Without SQLite or VLC it hangs or aborts; without libvlc-bin it loads all of VLC's plugins at each start. */
const PACKAGES = "kasts,dbus,libqt6sql6-sqlite,vlc-plugin-base,libvlc-bin";

/** The root of a trixie with Kasts: 0.8 GB. */
export const kastsRoot = () => debianRoot("trixie", PACKAGES);

/** What Kasts logs at the end of a sync. */
const ENDED = "Syncing finished|No episode actions to upload|Error::Sync";
/** Waits up to a minute for the end of its sync. */
const END_SYNC = `
for _ in $(seq 600); do
  grep -qE '${ENDED}' /mnt/log && break
  kill -0 $! || break
  sleep 0.1
done
# What it was told is written a moment later.
written() { ls -l --time-style=full-iso /mnt/.local/share/KDE/kasts; }
now=$(written)
for _ in $(seq 60); do
  sleep 0.5
  before=$now
  now=$(written)
  [ "$before" = "$now" ] && break
done
`;
/** Quits it as a desktop does, again until it hears it. */
const QUIT = `
for _ in $(seq 60); do
  dbus-send --session --type=method_call --dest=org.mpris.MediaPlayer2.kasts /org/mpris/MediaPlayer2 org.mpris.MediaPlayer2.Quit
  sleep 0.5
  kill -0 $! || break
done
kill -9 $!
wait $!
`;
const ENVIRONMENT = [
  "HOME=/mnt",
  "PATH=/usr/bin:/bin",
  "LANG=C.UTF-8",
  "QT_QPA_PLATFORM=offscreen",
  "QT_LOGGING_RULES=org.kde.kasts.sync=true",
  "QT_FORCE_STDERR_LOGGING=1",
  // Its windows for phones load in less time.
  "QT_QUICK_CONTROLS_MOBILE=1",
  "XDG_RUNTIME_DIR=/mnt",
];

export interface KastsAccount {
  /** With the path of the server, if it has one. */
  server: string;
  user: string;
  secret: string;
  provider: "gpodder" | "nextcloud";
  /** Used by "gpodder" only. */
  device: string;
}

/** Runs Kasts in a user's home. @returns what it logged */
async function runKasts(home: string, ...steps: string[]): Promise<string> {
  const log = join(home, "log");
  // That of the run before would tell that this one is at its end.
  rmSync(log, { force: true });
  const script = ["kasts >/mnt/log 2>&1 &", ...steps].join("\n");
  const inside = ["env", "-i", ...ENVIRONMENT, "dbus-run-session", "--", "sh", "-c", script];
  const mounts = 'mount -t proc none "$0/proc" && mount --rbind /dev "$0/dev" && mount --bind "$1" "$0/mnt"';
  const command = `${mounts} && root=$0 && shift && exec chroot "$root" "$@"`;
  const namespaces = ["unshare", "--mount", "--pid", "--fork", "--kill-child"];
  const child = Bun.spawn([...namespaces, "sh", "-c", command, kastsRoot(), home, ...inside], {
    stdin: "ignore",
    stderr: "pipe",
  });
  const [error] = await Promise.all([child.stderr.text(), child.exited]);
  if (!existsSync(log)) throw new Error(`Kasts did not start: ${error}`);
  return readFileSync(log, "utf8");
}

let newHome: Promise<string> | undefined;

const databaseIn = (home: string) => join(home, ".local/share/KDE/kasts/database.db3");

/** A home in which Kasts ran once, without an account: with its empty database, and its windows' compiled code. */
async function startFirst(): Promise<string> {
  const home = scratchPath("kasts");
  mkdirSync(home);
  for (let attempt = 1; attempt <= 3 && !existsSync(databaseIn(home)); attempt++) await runKasts(home, QUIT);
  return home;
}

/** Installs Kasts for one user of a desktop. It is signed in as its login page leaves it, and off between syncs. */
export async function openKasts(name: string, account: KastsAccount) {
  newHome ??= startFirst();
  const home = scratchPath(name);
  const database = databaseIn(home);
  must(["cp", "-a", await newHome, home]);
  signIn(account);

  /** Signs in as its user does after a sign-out, which forgets what was synced and what was not sent yet. */
  function signIn({ server, user, secret, provider, device }: KastsAccount): void {
    const config = [
      "[General]",
      "refreshOnStartup=true",
      "[Synchronization]",
      "syncEnabled=true",
      `syncHostname=${server}`,
      `syncUsername=${user}`,
      `syncProvider=${provider === "gpodder" ? 0 : 1}`,
      `syncDevice=${device}`,
    ];
    writeFileSync(join(home, ".config/kastsrc"), `${config.join("\n")}\n`);
    writeFileSync(join(dirname(database), user), secret);
    withDatabase((db) => {
      for (const table of ["SyncTimestamps", "FeedActions", "EpisodeActions"]) db.run(`delete from ${table}`);
    });
  }

  /** @returns what its sync logged; without the end of a sync it is started again, as its user would */
  async function sync(): Promise<string> {
    for (let attempt = 1; ; attempt++) {
      const log = await runKasts(home, END_SYNC, QUIT);
      if (new RegExp(ENDED).test(log)) return log;
      if (attempt === 3) throw new Error(`Kasts ended without a sync: ${log}`);
    }
  }

  function withDatabase<T>(use: (db: Database) => T): T {
    const db = new Database(database);
    try {
      return use(db);
    } finally {
      db.close();
    }
  }
  const now = () => Math.floor(Date.now() / 1000);
  const logFeedAction = (db: Database, action: "add" | "remove", url: string) =>
    db.run("insert into FeedActions (url, action, timestamp) values (?, ?, ?)", [url, action, now()]);

  return {
    sync,
    signIn,
    /** The URLs of its podcasts, as it shows them. */
    feeds: (): string[] =>
      withDatabase((db) => db.query<{ url: string }, []>("select url from Feeds order by url").all()).map(
        ({ url }) => url,
      ),
    /** Its user subscribes, while it is off. @param url as `QUrl::toString` shows it */
    add: (url: string) =>
      withDatabase((db) => {
        db.run(
          `insert into Feeds (name, url, image, link, description, deleteAfterCount, deleteAfterType, subscribed,
             lastUpdated, new, notify, dirname, lastHash) values (?, ?, '', '', '', 0, 0, ?, 0, 1, 0, '', '')`,
          [url, url, now()],
        );
        logFeedAction(db, "add", url);
      }),
    /** Its user unsubscribes, while it is off. */
    remove: (url: string) =>
      withDatabase((db) => {
        for (const table of ["Entries", "Enclosures", "Authors", "Queue"]) {
          db.run(`delete from ${table} where feed = ?`, [url]);
        }
        if (db.run("delete from Feeds where url = ?", [url]).changes === 0) throw new Error(`Kasts has no ${url}`);
        logFeedAction(db, "remove", url);
      }),
    /** Its user pauses an episode. @param position in seconds */
    play: (feed: string, guid: string, position: number) =>
      withDatabase((db) => {
        const logged = db.run(
          `insert into EpisodeActions (podcast, url, id, action, started, position, total, timestamp)
             select feed, url, id, 'play', ?1, ?1, duration, ?2 from Enclosures where feed = ?3 and id = ?4`,
          [position, now(), feed, guid],
        );
        if (logged.changes === 0) throw new Error(`Kasts has no episode ${guid} in ${feed}`);
        db.run("update Enclosures set playposition = ? where feed = ? and id = ?", [position * 1000, feed, guid]);
      }),
    /** Whether it is in the queue: what is played leaves it. */
    isQueued: (guid: string): boolean =>
      withDatabase((db) => db.query("select 1 from Queue where id = ?").get(guid) !== null),
    /** In seconds; null without the episode. */
    position: (guid: string): number | null =>
      withDatabase((db) => {
        const find = db.query<{ playposition: number }, [string]>("select playposition from Enclosures where id = ?");
        const row = find.get(guid);
        return row && Math.round(row.playposition / 1000);
      }),
  };
}
