// How the engines' schemas differ.
import { type RawBuilder, sql } from "kysely";

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
}

export const textType = (dialect: Dialect): RawBuilder<string> => sql.raw(dialect.text);
