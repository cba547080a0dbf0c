// The embedded engine: one file, one writing connection with group commit, one reading connection.
import { dirname } from "node:path";
import type { CompiledQuery } from "kysely";
import { DomainError, messageOf } from "../../errors.ts";
import type { Metrics } from "../../metrics.ts";
import type { Database, DatabaseStatus } from "../database.ts";
import { readAnything, type Tx } from "../statement.ts";
import { Checkpointer, LONGEST_LOG } from "./checkpoint.ts";
import { Handle } from "./connection.ts";
import { lockFolder } from "./directory-lock.ts";
import { damaged, identityOf, prepareFile, sizeOf } from "./file.ts";
import { GroupWriter } from "./group-commit.ts";
import { Line } from "./line.ts";
import { begin, codeOf } from "./retry-busy.ts";
import { Snapshot } from "./snapshot.ts";
import { isPending, type UpgradeOptions, upgradeFile } from "./upgrade.ts";

export interface SqliteOptions extends UpgradeOptions {
  metrics?: Metrics | undefined;
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
  const opened: Line<Handle>[] = [];
  const openLine = (...pragmas: string[]) => {
    const line = new Line(() => new Handle(file, plans, pragmas));
    opened.push(line);
    return line;
  };
  try {
    prepareFile(file);
    const writer = openLine("synchronous = full", `wal_autocheckpoint = ${LONGEST_LOG}`);
    const { sqlite, connection } = writer.handle;
    const pending = isPending(sqlite, options);
    await begin(sqlite, busy_timeout, () => sqlite.run("pragma journal_mode = wal"));
    if (pending) await upgradeFile(sqlite, connection.kysely, options);
    return new SqliteDatabase(writer, openLine("query_only = on"), options, unlock);
  } catch (error) {
    for (const { handle } of opened) handle.close();
    unlock();
    if (error instanceof DomainError) throw error;
    if (codeOf(error).startsWith("SQLITE_CORRUPT")) throw damaged(file, messageOf(error), error);
    throw new DomainError("config", `${file} can't be opened as a database: ${messageOf(error)}`, { cause: error });
  }
}

class SqliteDatabase implements Database {
  readonly #snapshot: Snapshot;
  readonly #group: GroupWriter;
  readonly #checkpointer: Checkpointer;
  readonly #identity: string | null;

  constructor(
    private readonly writer: Line<Handle>,
    private readonly reader: Line<Handle>,
    private readonly options: SqliteOptions,
    private readonly unlock: () => void,
  ) {
    this.#identity = identityOf(options.file);
    this.#checkpointer = new Checkpointer(options.file);
    this.#snapshot = new Snapshot({ begin: () => this.#beginSnapshot(), end: () => this.#endSnapshot() });
    this.#group = new GroupWriter({
      begin: () => this.#beginGroup(),
      control: (sql) => writer.handle.control(sql),
      inTransaction: () => writer.handle.sqlite.inTransaction,
      ended: () => {
        this.#snapshot.end();
        this.#checkpointer.check(writer.handle);
      },
      committed: (jobs, duration) => options.metrics?.committed(jobs, duration / 1000),
      failed: (error) => toDomainError(error, writer),
    });
  }

  async #beginGroup(): Promise<void> {
    this.writer.renew();
    const { handle } = this.writer;
    await begin(handle.sqlite, this.options.busy_timeout, () => handle.control("begin immediate"));
  }

  #beginSnapshot(): void {
    this.reader.renew();
    this.reader.handle.control("begin");
  }

  // What was to be read has been read: an error here is the next snapshot's, which takes a new connection.
  #endSnapshot(): void {
    try {
      this.reader.handle.control("commit");
    } catch {
      this.reader.distrust();
    }
  }

  async read<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    try {
      return await this.#snapshot.run(() => work(this.reader.handle.connection));
    } catch (error) {
      throw toDomainError(error, this.reader);
    }
  }

  write<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#group.run(() => work(this.writer.handle.connection));
  }

  async check(): Promise<void> {
    await this.read((tx) => readAnything(tx, {}));
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
    await this.#checkpointer.close();
    this.#snapshot.end();
    this.reader.handle.close();
    this.writer.handle.close();
    this.unlock();
  }
}

// A disk that is full, locked, failing or read-only may be well again later. What can't be read shows as corrupt.
function toDomainError(error: unknown, line: Line<Handle>): unknown {
  const code = codeOf(error);
  if (/^SQLITE_(IOERR|CORRUPT)/.test(code)) line.distrust();
  if (!/^SQLITE_(BUSY|FULL|IOERR|CORRUPT|READONLY|CANTOPEN|NOMEM|PROTOCOL)/.test(code)) return error;
  return new DomainError("unavailable", `The database can't be used now: ${messageOf(error)}`, {
    retry_after: 5,
    cause: error,
  });
}
