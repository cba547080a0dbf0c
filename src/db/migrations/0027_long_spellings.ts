// A short key of spellings, which may be as long as feed URLs.
import { type Kysely, type Migration, sql } from "kysely";
import type { Dialect } from "./dialect.ts";

export function shortenSpellingsKey(dialect: Dialect): Migration {
  return {
    async up(db: Kysely<unknown>) {
      if (!dialect.limitsKeys) return;
      await sql`alter table spellings drop constraint if exists spellings_key,
        add column url_hash bigint generated always as (hashtextextended(feed_url, 0)) stored,
        add constraint spellings_key primary key (user_id, feed, url_hash, until)`.execute(db);
    },
  };
}
