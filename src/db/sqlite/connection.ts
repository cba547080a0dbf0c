// A connection to the database file that is reopened after an I/O error.
import { type SQLQueryBindings, Database as Sqlite, type Statement } from "bun:sqlite";
import { z } from "zod";
import { codeOf, DomainError, reasonOf, unavailableNow } from "../../errors.ts";
import { describeNewer } from "../migrations/migrate.ts";
import type { Query } from "../statement.ts";
import { appliedMigrations, isDamage } from "./file.ts";

const DataVersion = z.object({ data_version: z.number() });
const DAMAGED = "its file is damaged, or can't be read: podkeep doctor says which";
const PRAGMAS = ["busy_timeout = 0", "foreign_keys = on", "trusted_schema = off"];

export class SqliteConnection {
  readonly #statements = new Map<string, Statement<unknown, SQLQueryBindings[]>>();
  #sqlite: Sqlite;
  #broken = false;
  /** SQLite's number of the present data, which only other connections change; null on a new connection. */
  #version: number | null = null;

  /** Opens the file, which exists. It never waits for other processes: `busy_timeout` is 0. */
  constructor(
    private readonly file: string,
    private readonly pragmas: string[],
  ) {
    this.#sqlite = this.#open();
  }

  #open(): Sqlite {
    const sqlite = new Sqlite(this.file, { readwrite: true, strict: true });
    try {
      for (const pragma of [...PRAGMAS, ...this.pragmas]) sqlite.run(`pragma ${pragma}`);
    } catch (error) {
      sqlite.close();
      throw error;
    }
    return sqlite;
  }

  /** The present connection, for use before the first transaction: a later one may be another. */
  get sqlite(): Sqlite {
    return this.#sqlite;
  }

  get inTransaction(): boolean {
    return this.#sqlite.inTransaction;
  }

  /** Begins a transaction, on a new connection after an I/O error. */
  begin(sql: "begin" | "begin immediate"): void {
    if (this.#broken) {
      const fresh = this.#open();
      this.close();
      this.#sqlite = fresh;
      this.#broken = false;
      this.#version = null;
    }
    this.run(sql);
  }

  // Not by Kysely, which takes twice as long and prepares at every execution.
  execute({ sql, parameters }: Query): unknown[] {
    let statement = this.#statements.get(sql);
    if (!statement) {
      statement = this.#sqlite.prepare<unknown, SQLQueryBindings[]>(sql);
      this.#statements.set(sql, statement);
    }
    return statement.all(...parameters);
  }

  /** Executes a statement without parameters. */
  run(sql: string): unknown[] {
    return this.execute({ sql, parameters: [] });
  }

  /** Whether no other connection has written since the last call; false if that is not known. */
  isAlone(): boolean {
    const before = this.#version;
    this.#version = DataVersion.parse(this.run("pragma data_version")[0]).data_version;
    return this.#version === before;
  }

  /** Makes the next transaction open a new connection: after an I/O error the page cache may hold anything. */
  markBroken(): void {
    this.#broken = true;
  }

  /**
   * Gives the error that callers get: "unavailable" if the disk is full, locked, read-only or failing, or a newer
   * program migrated the file under this command.
   */
  translate(error: unknown): unknown {
    const code = codeOf(error);
    const newer = /^SQLITE_(ERROR|CONSTRAINT|MISMATCH)/.test(code) && this.#findNewer();
    if (newer) return new DomainError("unavailable", newer, { cause: error });
    const isDamaged = isDamage(error);
    if (isDamaged || code.startsWith("SQLITE_IOERR")) this.markBroken();
    if (!isDamaged && !/^SQLITE_(BUSY|FULL|IOERR|READONLY|CANTOPEN|NOMEM|PROTOCOL)/.test(code)) return error;
    const reason = isDamaged ? DAMAGED : reasonOf(error);
    return unavailableNow(`The database can't be used now: ${reason}`, error);
  }

  /** What to do about a newer schema; null if this program knows the file's, or if that can't be read. */
  #findNewer(): string | null {
    try {
      return describeNewer(appliedMigrations(this.#sqlite));
    } catch {
      return null;
    }
  }

  // SQLite keeps a connection with open statements open, and moves the write-ahead log when the last one closes.
  close(): void {
    for (const statement of this.#statements.values()) statement.finalize();
    this.#statements.clear();
    this.#sqlite.close();
  }
}
