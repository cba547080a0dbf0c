// The embedded engine: one file, one writing connection with group commit, one reading connection.
import { type SQLQueryBindings, Database as Sqlite, type Statement } from "bun:sqlite";
import { dirname } from "node:path";
import { type CompiledQuery, type DatabaseConnection, type Driver, Kysely, SqliteAdapter } from "kysely";
import { BunSqliteDialect } from "kysely-bun-sqlite";
import { DomainError, messageOf } from "../errors.ts";
import type { Probe } from "../probe.ts";
import { begin, codeOf } from "./busy.ts";
import type { Database, DatabaseStatus } from "./database.ts";
import { identityOf, prepareFile, sizeOf } from "./file.ts";
import { GroupWriter } from "./group.ts";
import { lockFolder } from "./lock.ts";
import type { Schema } from "./schema.ts";
import { Snapshot } from "./snapshot.ts";
import { type Connection, readAnything } from "./statement.ts";
import { isPending, type UpgradeOptions, upgradeFile } from "./upgrade.ts";

// kysely-bun-sqlite prepares at every execution; a prepare() that keeps its statements halves the cost of a read.
class CachingSqlite extends Sqlite {
  readonly #statements = new Map<string, Statement>();

  override prepare<Row, Values extends SQLQueryBindings | SQLQueryBindings[]>(sql: string) {
    let statement = this.#statements.get(sql);
    if (!statement) {
      statement = super.prepare(sql);
      this.#statements.set(sql, statement);
    }
    // biome-ignore lint/suspicious/noExplicitAny: the type that bun:sqlite gives it
    return statement as Statement<Row, Values extends any[] ? Values : [Values]>;
  }

  override close(): void {
    for (const statement of this.#statements.values()) statement.finalize();
    this.#statements.clear();
    super.close();
  }
}

// The dialect's driver guards its one connection with a mutex and begins with a plain BEGIN. Here transactions are
// begun by the group writer and the snapshot, and everything in between may use the connection.
class SharedDialect extends BunSqliteDialect {
  override createDriver(): Driver {
    const inner = super.createDriver();
    let connection: Promise<DatabaseConnection> | undefined;
    return {
      init: () => inner.init(),
      acquireConnection() {
        connection ??= inner.acquireConnection();
        return connection;
      },
      releaseConnection: async () => {},
      beginTransaction: () => inTransactionAlready(),
      commitTransaction: () => inTransactionAlready(),
      rollbackTransaction: () => inTransactionAlready(),
      destroy: () => inner.destroy(),
    };
  }

  override createAdapter() {
    return new SqliteAdapter();
  }
}

function inTransactionAlready(): never {
  throw new Error("Transactions are begun by Database.read and Database.write");
}

interface Handle {
  sqlite: Sqlite;
  connection: Connection;
}

function openHandle(file: string, plans: Map<object, CompiledQuery>): Handle {
  const sqlite = new CachingSqlite(file, { readwrite: true, create: true, strict: true });
  sqlite.run("pragma busy_timeout = 0");
  sqlite.run("pragma foreign_keys = on");
  sqlite.run("pragma synchronous = full");
  const kysely = new Kysely<Schema>({ dialect: new SharedDialect({ database: sqlite }) });
  const execute = async (query: CompiledQuery) => (await kysely.executeQuery(query)).rows;
  return { sqlite, connection: { kysely, plans, execute } };
}

export interface SqliteOptions extends UpgradeOptions {
  probe?: Probe | undefined;
}

/**
 * Opens the database file, makes it where it is missing, and migrates it.
 * @throws DomainError "config" where the file is not ours, damaged, from a newer program, or can't be written,
 * "conflict" where another use of its folder stands against this one
 */
export async function openSqlite(options: SqliteOptions): Promise<Database> {
  const { file, busy_timeout, use } = options;
  const plans = new Map<object, CompiledQuery>();
  const unlock = lockFolder(dirname(file), use);
  const opened: Sqlite[] = [];
  const open = () => {
    const handle = openHandle(file, plans);
    opened.push(handle.sqlite);
    return handle;
  };
  try {
    prepareFile(file);
    const writer = open();
    const pending = isPending(writer.sqlite, options);
    await begin(writer.sqlite, busy_timeout, () => writer.sqlite.run("pragma journal_mode = wal"));
    if (pending) await upgradeFile(writer.sqlite, writer.connection.kysely, options);
    return new SqliteDatabase(writer, open(), open, options, unlock);
  } catch (error) {
    for (const sqlite of opened) sqlite.close();
    unlock();
    if (error instanceof DomainError) throw error;
    throw new DomainError("config", `${file} can't be opened as a database: ${messageOf(error)}`, { cause: error });
  }
}

class SqliteDatabase implements Database {
  readonly #snapshot: Snapshot;
  readonly #group: GroupWriter;
  readonly #identity: string | null;
  #distrusted = false;

  constructor(
    private writer: Handle,
    private readonly reader: Handle,
    private readonly reopen: () => Handle,
    private readonly options: SqliteOptions,
    private readonly unlock: () => void,
  ) {
    this.#identity = identityOf(options.file);
    reader.sqlite.run("pragma query_only = on");
    this.#snapshot = new Snapshot((sql) => reader.sqlite.run(sql));
    this.#group = new GroupWriter({
      begin: () => this.#begin(),
      control: (sql) => this.writer.sqlite.run(sql),
      inTransaction: () => this.writer.sqlite.inTransaction,
      ended: () => this.#snapshot.end(),
      committed: (jobs, duration) => options.probe?.committed(jobs, duration / 1000),
      failed: (error) => {
        // After a failed write or fsync nobody knows what the page cache holds.
        if (codeOf(error).startsWith("SQLITE_IOERR")) this.#distrusted = true;
        return toDomainError(error);
      },
    });
  }

  async #begin(): Promise<void> {
    if (this.#distrusted) {
      const fresh = this.reopen();
      this.writer.sqlite.close();
      this.writer = fresh;
      this.#distrusted = false;
    }
    await begin(this.writer.sqlite, this.options.busy_timeout, () => this.writer.sqlite.run("begin immediate"));
  }

  async read<T>(work: (on: Connection) => Promise<T>): Promise<T> {
    try {
      return await this.#snapshot.run(() => work(this.reader.connection));
    } catch (error) {
      throw toDomainError(error);
    }
  }

  write<T>(work: (on: Connection) => Promise<T>): Promise<T> {
    return this.#group.run(() => work(this.writer.connection));
  }

  async check(): Promise<void> {
    await this.read((on) => readAnything(on, {}));
    // Writes to a deleted file succeed, and are lost with the process.
    const { file } = this.options;
    if (identityOf(file) === this.#identity) return;
    throw new DomainError("unavailable", `${file} was moved, deleted or replaced: start the server again`);
  }

  async status(): Promise<DatabaseStatus> {
    const { file } = this.options;
    return { waiting: this.#group.waiting, bytes: sizeOf(file), wal_bytes: sizeOf(`${file}-wal`) };
  }

  async close(): Promise<void> {
    await this.#group.idle();
    this.#snapshot.end();
    this.reader.sqlite.close();
    this.writer.sqlite.close();
    this.unlock();
  }
}

// A disk that is full, locked, failing or read-only may be well again later.
function toDomainError(error: unknown): unknown {
  if (!/^SQLITE_(BUSY|FULL|IOERR|READONLY|CANTOPEN|NOMEM|PROTOCOL)/.test(codeOf(error))) return error;
  return new DomainError("unavailable", `The database can't be used now: ${messageOf(error)}`, {
    retry_after: 5,
    cause: error,
  });
}
