// Kysely queries compiled once per engine and bound to new values at every execution.
import type { Compilable, CompiledQuery, Kysely } from "kysely";
import type { Schema } from "./schema.ts";

type Value = string | number | null;
type Values = Record<string, Value>;

/** SQL with the values of its parameters. */
export interface Query {
  readonly sql: string;
  readonly parameters: readonly Value[];
}

/** What statements run on: a transaction or a read snapshot of one engine. */
export interface Tx {
  /** Builds statements; they are run by `execute`. */
  readonly kysely: Kysely<Schema>;
  /** Compiled statements, kept for the life of the engine. */
  readonly plans: Map<object, CompiledQuery>;
  /** Runs a compiled statement and gives its rows. */
  execute(query: Query): Promise<unknown[]>;
}

/** Stands for a value while a query is compiled: the field of the values, or of the row with this index. */
class Marker {
  constructor(
    readonly field: string,
    readonly row?: number,
  ) {}
}

/** Rows that one statement takes at a time: few sizes, so that few statements stay prepared. */
const PIECES = [100, 10, 1];

// A marker poses as the value it stands for: Kysely passes parameters through unseen.
function markers<T extends Values>(row?: number): T {
  return new Proxy({} as T, { get: (_, field) => new Marker(String(field), row) });
}

function bind(plan: CompiledQuery, values: Values, rows: readonly Values[]): Query {
  const parameters = plan.parameters.map((parameter) => {
    if (!(parameter instanceof Marker)) return parameter as Value;
    const from = parameter.row === undefined ? values : rows[parameter.row];
    return from?.[parameter.field] ?? null;
  });
  return { sql: plan.sql, parameters };
}

async function run<R>(tx: Tx, key: object, build: () => Compilable<R>, values: Values, rows: readonly Values[]) {
  let plan = tx.plans.get(key);
  if (!plan) {
    plan = build().compile();
    tx.plans.set(key, plan);
  }
  return (await tx.execute(bind(plan, values, rows))) as R[];
}

/** Makes a function that runs one query. `build` is called once; its `p` gives a marker for each value. */
export function statement<P extends Values, R>(build: (db: Kysely<Schema>, p: P) => Compilable<R>) {
  const key = {};
  return (tx: Tx, values: P): Promise<R[]> => run(tx, key, () => build(tx.kysely, markers<P>()), values, []);
}

/**
 * Makes a function that runs one query over many rows, in pieces of 100, 10 and 1: the rows of an insert, or the
 * members of an IN list.
 */
export function bulkStatement<P extends Values, Row extends Values, R>(
  build: (db: Kysely<Schema>, p: P, rows: Row[]) => Compilable<R>,
) {
  const keys = new Map(PIECES.map((size) => [size, {}]));
  return async (tx: Tx, values: P, rows: readonly Row[]): Promise<R[]> => {
    const results: R[] = [];
    let start = 0;
    for (const [size, key] of keys) {
      for (; rows.length - start >= size; start += size) {
        const list = () => Array.from({ length: size }, (_, index) => markers<Row>(index));
        const piece = rows.slice(start, start + size);
        results.push(...(await run(tx, key, () => build(tx.kysely, markers<P>(), list()), values, piece)));
      }
    }
    return results;
  };
}

/** A read of our tables, whatever they hold. */
export const readAnything = statement((db) => db.selectFrom("users").select("id").limit(1));
