// How the engines' schemas differ.
import { type ForeignKeyConstraintBuilder, type Kysely, type RawBuilder, sql } from "kysely";

/** Migrations read these fields and never an engine's name. */
export interface Dialect {
  /** Type of text that is compared byte by byte. */
  readonly text: "text" | 'text collate "C"';
  /** Appended to `create table`. */
  readonly tableOptions: string;
  /** Whether tables with these options keep long rows worse than others. */
  readonly prefersRowids: boolean;
  /** Whether a constraint can be dropped. If not, the table is rebuilt without it. */
  readonly dropsConstraints: boolean;
  /** Whether a key takes no long text: 2,704 bytes on PostgreSQL, as far as they can't be compressed. */
  readonly limitsKeys: boolean;
}

export const textType = (dialect: Dialect): RawBuilder<string> => sql.raw(dialect.text);

/** Begins a table. */
export const createTable = (db: Kysely<unknown>, dialect: Dialect, name: string) =>
  db.schema.createTable(name).modifyEnd(sql.raw(dialect.tableOptions));

/** Begins a table whose rows are deleted with their user. Only before 0021: ids of users are numbers since then. */
export const createUserTable = (db: Kysely<unknown>, dialect: Dialect, name: string) =>
  createTable(db, dialect, name).addColumn("user_id", textType(dialect), (column) =>
    column.notNull().references("users.id").onDelete("cascade"),
  );

/** For a foreign key: rows are deleted with the one that they refer to. */
export const cascade = (key: ForeignKeyConstraintBuilder) => key.onDelete("cascade");
