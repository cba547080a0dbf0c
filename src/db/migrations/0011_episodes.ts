// Episodes get rows and ids; the actions on them refer to these.
import { type Kysely, type Migration, sql } from "kysely";
import { createTable, type Dialect, textType } from "./dialect.ts";

interface OldAction {
  user_id: string;
  feed: string;
  feed_url: string;
  episode_url: string;
  guid: string | null;
  kind: string;
  sent_at: number;
  acted_at: number;
  arrived_at: number;
  started: number | null;
  position: number | null;
  total: number | null;
  device: string | null;
  client: string | null;
}

interface Before {
  users: { id: string; last_episode: number };
  feeds: { user_id: string; feed: string; subscription: number };
  episode_actions: OldAction;
  episodes: Record<"id" | "podcast", number> &
    Record<"user_id" | "url", string> &
    Record<"feed_url" | "guid", string | null> &
    Record<"guid_key" | "url_key", number | null>;
  new_actions: Omit<OldAction, "feed" | "feed_url" | "episode_url" | "guid" | "client"> & {
    episode: number;
    client: number | null;
  };
}

/** Rows in one statement. */
const BATCH = 100;

export function addEpisodes(dialect: Dialect): Migration {
  const text = textType(dialect);
  return {
    async up(schema: Kysely<unknown>) {
      const db = schema as Kysely<Before>;

      await db.schema
        .alterTable("users")
        .addColumn("last_episode", "bigint", (column) => column.notNull().defaultTo(0))
        .execute();

      // No foreign keys: each insert is faster, and Citus refuses one to a table that is not distributed yet.
      await createTable(schema, dialect, "episodes")
        .addColumn("user_id", text, (column) => column.notNull())
        .addColumn("id", "bigint", (column) => column.notNull())
        .addColumn("podcast", "bigint", (column) => column.notNull())
        .addColumn("feed_url", text)
        .addColumn("guid", text)
        .addColumn("url", text, (column) => column.notNull())
        .addColumn("guid_key", "bigint")
        .addColumn("url_key", "bigint")
        .addPrimaryKeyConstraint("episodes_key", ["user_id", "id"])
        .execute();

      await createTable(schema, dialect, "new_actions")
        .addColumn("user_id", text, (column) => column.notNull())
        .addColumn("episode", "bigint", (column) => column.notNull())
        .addColumn("kind", text, (column) => column.notNull())
        .addColumn("sent_at", "bigint", (column) => column.notNull())
        .addColumn("acted_at", "bigint", (column) => column.notNull())
        .addColumn("arrived_at", "bigint", (column) => column.notNull())
        .addColumn("started", "bigint")
        .addColumn("position", "bigint")
        .addColumn("total", "bigint")
        .addColumn("device", text)
        .addColumn("client", "bigint")
        .addPrimaryKeyConstraint("actions_key", ["user_id", "episode", "kind"])
        .execute();

      for await (const { user_id } of await db.selectFrom("episode_actions").select("user_id").distinct().execute()) {
        await moveUser(db, user_id);
      }
      await db.schema.dropTable("episode_actions").execute();
      await db.schema.alterTable("new_actions").renameTo("episode_actions").execute();

      const index = (on: string, name: string, columns: string[]) =>
        db.schema
          .createIndex(name)
          .on(on)
          .columns(["user_id", ...columns]);
      await index("episodes", "episodes_by_url", ["podcast", "url_key"]).execute();
      await index("episodes", "episodes_by_podcast", ["podcast", "guid_key"]).execute();
      await index("episode_actions", "episode_actions_by_arrival", ["arrived_at"]).unique().execute();
    },
  };
}

/** Makes episodes of a user's actions, a podcast at a time. */
async function moveUser(db: Kysely<Before>, user_id: string): Promise<void> {
  const owned = db.selectFrom("episode_actions").where("user_id", "=", user_id);
  const used = await owned.select("feed").distinct().execute();
  const known = await db.selectFrom("feeds").select(["feed", "subscription"]).where("user_id", "=", user_id).execute();
  const subscriptions = new Map(known.map(({ feed, subscription }) => [feed, Number(subscription)]));
  const podcastOf = ({ feed }: { feed: string }) => subscriptions.get(feed) ?? -1 - numberOf(feed);
  let last = 0;
  for (const [podcast, feeds] of Map.groupBy(used, podcastOf)) {
    const rows = await owned
      .selectAll()
      .where(
        "feed",
        "in",
        feeds.map(({ feed }) => feed),
      )
      .orderBy("arrived_at")
      .execute();
    const episodes = episodesOf(rows).map((actions) => ({ id: ++last, actions }));
    await insert(
      db,
      "episodes",
      episodes.map(({ id, actions }) => episodeRow(user_id, id, podcast, actions)),
    );
    await insert(
      db,
      "new_actions",
      episodes.flatMap(({ id, actions }) => actionRows(id, actions)),
    );
  }
  await db.updateTable("users").set({ last_episode: last }).where("id", "=", user_id).execute();
}

async function insert<Name extends "episodes" | "new_actions">(
  db: Kysely<Before>,
  name: Name,
  rows: Before[Name][],
): Promise<void> {
  for (let start = 0; start < rows.length; start += BATCH) {
    const piece: Record<string, unknown>[] = rows.slice(start, start + BATCH);
    const columns = Object.keys(piece[0] ?? {});
    const values = piece.map((row) => sql`(${sql.join(columns.map((column) => row[column]))})`);
    const names = sql.join(columns.map((column) => sql.ref(column)));
    await sql`insert into ${sql.table(name)} (${names}) values ${sql.join(values)}`.execute(db);
  }
}

const withoutScheme = (url: string) => url.replace(/^https?:\/\//i, "");

const HASH = new Uint8Array(32);
const DIGITS = new DataView(HASH.buffer);

/** 47 bits of a text's hash. */
export function numberOf(text: string): number {
  Bun.SHA256.hash(text, HASH);
  return DIGITS.getUint32(0) * 32768 + (DIGITS.getUint16(4) >>> 1);
}

const isLater = (a: OldAction, b: OldAction) =>
  Number(a.acted_at) === Number(b.acted_at)
    ? Number(a.arrived_at) > Number(b.arrived_at)
    : Number(a.acted_at) > Number(b.acted_at);

const latestOf = (actions: OldAction[]) => actions.reduce((best, one) => (isLater(one, best) ? one : best));

/** Puts the actions of one podcast together by guid; those without guid by URL, with the latest that has this URL. */
function episodesOf(actions: OldAction[]): OldAction[][] {
  const named = Map.groupBy(
    actions.filter(({ guid }) => guid !== null),
    ({ guid }) => guid,
  );
  const unnamed = Map.groupBy(
    actions.filter(({ guid }) => guid === null),
    (row) => withoutScheme(row.episode_url),
  );
  const byUrl = Map.groupBy([...named.values()].flat(), (row) => withoutScheme(row.episode_url));
  const left: OldAction[][] = [];
  for (const [url, rows] of unnamed) {
    const same = byUrl.get(url);
    const found = same && named.get(latestOf(same).guid);
    if (found) found.push(...rows);
    else left.push(rows);
  }
  return [...named.values(), ...left];
}

function episodeRow(user_id: string, id: number, podcast: number, actions: OldAction[]): Before["episodes"] {
  const { episode_url: url, feed_url } = latestOf(actions);
  const guid = actions.find((row) => row.guid !== null)?.guid ?? null;
  return {
    user_id,
    id,
    podcast,
    feed_url: podcast < 0 ? feed_url : null,
    guid,
    url,
    guid_key: guid === null ? null : numberOf(guid),
    url_key: numberOf(withoutScheme(url)),
  };
}

/** Of each kind the later action stays. */
function actionRows(episode: number, actions: OldAction[]): Before["new_actions"][] {
  return [...Map.groupBy(actions, ({ kind }) => kind).values()].map((same) => {
    const { user_id, kind, sent_at, acted_at, arrived_at, started, position, total, device, client } = latestOf(same);
    return {
      user_id,
      episode,
      kind,
      sent_at,
      acted_at,
      arrived_at,
      started,
      position,
      total,
      device,
      client: client === null ? null : numberOf(client),
    };
  });
}
