// Kysely queries, compiled once per engine and bound to new values at every execution.
import { type CompiledQuery, type Kysely, type RawBuilder, sql } from "kysely";
import type { Schema } from "./schema.ts";

export type Value = string | number | null;
type Values = Record<string, Value>;

/** All columns of a row as values. An interface alone has no index signature, and so is none. */
export type ValuesOf<Row> = { [Column in keyof Row]: Row[Column] };

/** SQL with the values of its parameters. */
export interface Query {
  readonly sql: string;
  readonly parameters: readonly Value[];
}

/** Whether others may have a lock at the same time. */
export type LockMode = "shared" | "exclusive";

/** A transaction or a read snapshot. */
export interface Tx {
  /** Builds and compiles statements; it can't execute them. One per engine. */
  readonly kysely: Kysely<Schema>;
  /** Executes a statement and returns its rows. */
  execute(query: Query): Promise<unknown[]>;
  /**
   * Takes a lock until the end of the transaction, on the engine where several write at the same time. Later statements see
   * what those that had it committed.
   */
  lock?(key: number, mode: LockMode): Promise<unknown>;
}

/** A query of Kysely's builder, or one in its `sql` template. */
interface Buildable<R> {
  compile(kysely: Kysely<Schema>): CompiledQuery<R>;
}

/** A compiled statement: each parameter is a value, or says which one takes its place. */
interface Plan {
  sql: string;
  parameters: (Value | Marker)[];
}

/** Compiled statements by query builder, so by engine. */
type Plans = WeakMap<Kysely<Schema>, Plan>;

/** Stands for a value while a query is compiled: a field of the values, or of the row with this index. */
class Marker {
  constructor(
    readonly field: string,
    readonly row?: number,
  ) {}
}

/**
 * Rows per statement, beside one. Up to 16 rows, and the 30 that AntennaPod and Kasts send, take at most two statements,
 * and at most 13 sizes stay prepared.
 */
const LARGER = [128, 64, 32, 30, 16, 8, 7, 6, 5, 4, 3, 2];

// A marker poses as the value it stands for: Kysely passes parameters through unread.
function markers<T extends Values>(row?: number): T {
  return new Proxy({} as T, { get: (_, field) => new Marker(String(field), row) });
}

/** Binds values and the rows from `start` on. */
function bind(plan: Plan, values: Values, rows: readonly Values[], start: number): Query {
  const parameters = plan.parameters.map((parameter) => {
    if (!(parameter instanceof Marker)) return parameter;
    const from = parameter.row === undefined ? values : rows[start + parameter.row];
    return from?.[parameter.field] ?? null;
  });
  return { sql: plan.sql, parameters };
}

function planOf<R>({ kysely }: Tx, plans: Plans, build: (db: Kysely<Schema>) => Buildable<R>): Plan {
  let plan = plans.get(kysely);
  if (!plan) {
    const { sql, parameters } = build(kysely).compile(kysely);
    plan = { sql, parameters: parameters as (Value | Marker)[] };
    plans.set(kysely, plan);
  }
  return plan;
}

/** Makes a function that runs one query. `build` is called once per engine; its `p` gives a marker for each value. */
export function statement<P extends Values, R>(build: (db: Kysely<Schema>, p: P) => Buildable<R>) {
  const plans: Plans = new WeakMap();
  const compile = (db: Kysely<Schema>) => build(db, markers<P>());
  return (tx: Tx, values: P) => tx.execute(bind(planOf(tx, plans, compile), values, [], 0)) as Promise<R[]>;
}

/**
 * Makes a function that runs one query over many rows: the rows of an insert, or the members of an IN list. It takes as
 * few statements as these sizes allow, one after the other.
 * @param most rows of one statement; less if a row takes long, because others get a turn between the statements only
 */
export function bulkStatement<P extends Values, Row extends Values, R>(
  build: (db: Kysely<Schema>, p: P, rows: Row[]) => Buildable<R>,
  most = 128,
) {
  const ofSize = (size: number) => {
    const list = () => Array.from({ length: size }, (_, index) => markers<Row>(index));
    return { size, plans: new WeakMap() as Plans, compile: (db: Kysely<Schema>) => build(db, markers<P>(), list()) };
  };
  const one = ofSize(1);
  const sizes = LARGER.filter((size) => size <= most).map(ofSize);
  const run = (tx: Tx, values: P, rows: readonly Row[], start: number, { plans, compile }: typeof one) =>
    tx.execute(bind(planOf(tx, plans, compile), values, rows, start)) as Promise<R[]>;
  const runAll = async (tx: Tx, values: P, rows: readonly Row[]): Promise<R[]> => {
    const results: R[] = [];
    for (let start = 0; start < rows.length; ) {
      const left = rows.length - start;
      const piece = sizes.find(({ size }) => size <= left) ?? one;
      for (const row of await run(tx, values, rows, start, piece)) results.push(row);
      start += piece.size;
    }
    return results;
  };
  return (tx: Tx, values: P, rows: readonly Row[]): Promise<R[]> => {
    if (rows.length === 0) return Promise.resolve([]);
    return rows.length === 1 ? run(tx, values, rows, 0, one) : runAll(tx, values, rows);
  };
}

/** Rows of the largest piece of a bulk statement. */
const LARGEST = LARGER[0] ?? 1;

/** Fills rows up with some that find nothing, so that a bulk statement is one for each LARGEST, and not many for the rest. */
export const fillUp = <Row>(rows: readonly Row[], nothing: Row): Row[] => [
  ...rows,
  ...Array.from({ length: (LARGEST - (rows.length % LARGEST)) % LARGEST }, () => nothing),
];

/**
 * A LIMIT whose value no engine plans with. SQLite would prepare the statement at each execution; beside ORDER BY it does
 * so with the value of an `=`, but not with `in [value]`. PostgreSQL, which expects few rows of a user before it has
 * statistics, would sort all that there are; of a limit that it can't see, it expects a tenth, and so reads an index.
 */
export const limitTo = (limit: number): RawBuilder<number> => sql<number>`(select ${limit} + 0)`;

/** Reads from a table of ours. */
export const readAnything = statement((db) => db.selectFrom("users").select("id").limit(1));

/** Fails where nothing can be written, and changes nothing elsewhere. */
export const writeNothing = statement((db) => db.deleteFrom("users").where("id", "=", -1));
