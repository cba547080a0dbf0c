// A connection to the database file, with the statements that were prepared on it.
import { type SQLQueryBindings, Database as Sqlite, type Statement } from "bun:sqlite";
import { type CompiledQuery, type DatabaseConnection, type Driver, Kysely, SqliteAdapter } from "kysely";
import { BunSqliteDialect } from "kysely-bun-sqlite";
import type { Schema } from "../schema.ts";
import type { Query, Tx } from "../statement.ts";

/** Opens the file, which is made where it is missing; what waits for other processes is up to the caller. */
export class Handle {
  readonly sqlite: Sqlite;
  readonly connection: Tx;
  readonly #statements = new Map<string, Statement<unknown, SQLQueryBindings[]>>();

  constructor(file: string, plans: Map<object, CompiledQuery>, pragmas: string[]) {
    this.sqlite = new ClosableSqlite(file, { readwrite: true, create: true, strict: true });
    try {
      for (const pragma of ["busy_timeout = 0", "foreign_keys = on", ...pragmas]) this.sqlite.run(`pragma ${pragma}`);
    } catch (error) {
      this.sqlite.close();
      throw error;
    }
    const kysely = new Kysely<Schema>({ dialect: new SharedDialect({ database: this.sqlite }) });
    this.connection = { kysely, plans, execute: async (query) => this.#execute(query) };
  }

  // Not by Kysely, which takes twice as long and prepares at every execution.
  #execute({ sql, parameters }: Query): unknown[] {
    let statement = this.#statements.get(sql);
    if (!statement) {
      statement = this.sqlite.prepare<unknown, SQLQueryBindings[]>(sql);
      this.#statements.set(sql, statement);
    }
    return statement.all(...parameters);
  }

  /** Runs one statement that has no parameters. */
  control(sql: string): unknown[] {
    return this.#execute({ sql, parameters: [] });
  }

  close(): void {
    this.#statements.clear();
    this.sqlite.close();
  }
}

// A statement that is not finalized, as Kysely leaves them, keeps a connection open, and SQLite writes its log back when
// the last one closes.
class ClosableSqlite extends Sqlite {
  readonly #statements = new Set<Statement>();

  override prepare<Row, Values extends SQLQueryBindings | SQLQueryBindings[]>(sql: string) {
    const statement = super.prepare<Row, Values>(sql);
    this.#statements.add(statement);
    return statement;
  }

  override close(): void {
    for (const statement of this.#statements) statement.finalize();
    super.close();
  }
}

// For migrations. The dialect's driver guards its one connection with a mutex and begins with a plain BEGIN. Here
// transactions are begun by the group writer and the snapshot, and everything in between may use the connection.
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
