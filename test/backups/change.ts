// Backups that somebody has changed.
import { Database } from "bun:sqlite";

/** Runs statements in a file, whatever foreign keys say. */
export function change(file: string, ...statements: string[]): void {
  const sqlite = new Database(file);
  sqlite.run("pragma foreign_keys = off");
  for (const statement of statements) sqlite.run(statement);
  sqlite.close();
}
