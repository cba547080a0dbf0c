// Statistics for SQLite's query planner.
import type { Database as Sqlite } from "bun:sqlite";

/**
 * Rows of each table, and rows that share the first columns of an index (the rows of one user first). Without them
 * SQLite expects ten rows of each user, and rather reads all of a user's rows than an index.
 * Written by hand (https://sqlite.org/optoverview.html, "Manual Control Of Query Plans Using SQLITE_STAT Tables").
 */
const STATISTICS: [table: string, index: string, rows: string][] = [
  ["feeds", "feeds", "1000000 10000 1"],
  ["feeds", "feeds_by_subscription", "10000 100 1"],
  ["feeds", "feeds_by_leaving", "10000 100 1"],
  ["guids", "guids", "1000000 10000 1"],
  ["guids", "guids_by_subscription", "10000 100 1"],
  ["guids", "guids_by_retirement", "10000 100 1 1"],
  ["deletions", "deletions", "1000000 10000 1"],
  ["deletions", "deletions_pending", "10000 100 1"],
  ["sync_entities", "sync_entities", "1000000 10000 1"],
  ["sync_entities", "sync_entities_by_subscription", "1000000 10000 1"],
  ["episodes", "sqlite_autoindex_episodes_1", "1000000 10000 1"],
  ["episodes", "episodes_by_url", "1000000 10000 1 1"],
  ["episodes", "episodes_by_podcast", "1000000 10000 100 1"],
  ["plays", "plays", "1000000 10000 2 1"],
  ["plays", "plays_by_episode", "1000000 10000 5 3 1"],
  ["episode_actions", "episode_actions", "1000000 10000 2 1"],
  ["episode_actions", "episode_actions_by_arrival", "1000000 10000 1"],
];

/**
 * Writes the statistics if the file has others. This connection and later ones use them; if they can't be written, the
 * next start tries again.
 */
export function keepStatistics(sqlite: Sqlite): void {
  const known = sqlite.query("select 1 from sqlite_schema where name = 'sqlite_stat1'").get();
  const rows = known ? sqlite.query("select tbl, idx, stat from sqlite_stat1 order by rowid").values() : [];
  if (Bun.deepEquals(rows, STATISTICS)) return;
  const write = sqlite.transaction(() => {
    // Creates the table.
    sqlite.run("analyze sqlite_schema");
    sqlite.run("delete from sqlite_stat1");
    const insert = sqlite.prepare("insert into sqlite_stat1 (tbl, idx, stat) values (?, ?, ?)");
    for (const row of STATISTICS) insert.run(...row);
    insert.finalize();
  });
  try {
    write.immediate();
    sqlite.run("analyze sqlite_schema");
  } catch {
    // A full disk must not keep the server from starting.
  }
}
