// Group commit: write transactions that wait share one commit, and so one fsync (P7).
import { codeOf, inDoubt } from "../../errors.ts";
import { Rounds } from "../../rounds.ts";
import { LONGEST_TURN, nextTurn, takeTurns } from "../../turns.ts";
import type { Changes } from "../database.ts";
import type { SqliteConnection } from "./connection.ts";
import { LastWrites } from "./last-writes.ts";
import { retryWhileBusy } from "./retry-busy.ts";

export interface GroupOptions {
  /** Milliseconds to wait for another process that writes. */
  busy_timeout: number;
  /** Milliseconds for which each group leaves the file to another process. */
  rest: number;
  /** Called before each group. @throws if it is known that it would be lost */
  refuse(): void;
  /** Called after each commit, before it is acknowledged. @throws if it is lost */
  verify(): void;
  /** Called after each commit with its number of jobs and its duration in milliseconds. */
  committed(jobs: number, duration: number): void;
  /** Called after each group, committed or not. */
  ended(): void;
}

/** Call it before each statement. @throws Error in a job that is too long for a savepoint */
type Count = () => void;

interface Job {
  /** The user whose data it changes; undefined for several. */
  owner: number | undefined;
  changes: Changes;
  /** Whether a group ended while it waited. */
  waited: boolean;
  /** Whether it was too long to come after others. */
  isLong: boolean;
  run(count: Count): Promise<unknown>;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

type Outcome = { job: Job; value: unknown } | { job: Job; error: unknown };

const LARGEST_GROUP = 256;
/** Milliseconds after which a group takes no more jobs, so that long jobs don't delay the others. */
const LONGEST_GROUP = 50;
/**
 * Statements of a job that comes after others. A longer one waits for their commit: to undo it alone, SQLite would keep
 * each page that a statement changes, as it was before, until the job ends.
 */
const MOST_STATEMENTS = 64;

/** Jobs longer than a turn, one after the other, from which a user's next one is taken for long. One may be by chance. */
const LARGE = 2;

/** Runs jobs in groups, each but the first in its own savepoint. */
export class GroupWriter {
  readonly #queue = new Rounds<Job>();
  readonly #lastWrites = new LastWrites();
  /** How many of a user's last jobs took longer than a turn, as the parts of a large request do. */
  readonly #long = new Map<number | undefined, number>();
  #loop: Promise<void> | null = null;
  /** When the last group ended. */
  #ended = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly connection: SqliteConnection,
    private readonly options: GroupOptions,
  ) {}

  /** Resolves with the job's result after the commit that holds it. */
  run<T>(user: number | undefined, work: (count: Count) => Promise<T>, changes: Changes = "all"): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const job = { owner: user, changes, waited: false, isLong: false, run: work };
      this.#queue.add({ ...job, resolve: (value) => resolve(value as T), reject });
      this.#loop ??= this.#work();
    });
  }

  /** As Database.watch(). */
  watch(user: number, ignored?: "episodes"): () => boolean {
    return this.#lastWrites.watch(user, ignored);
  }

  /** Resolves when no job is queued or running. */
  async idle(): Promise<void> {
    while (this.#loop) await this.#loop;
  }

  get waiting(): number {
    return this.#queue.length;
  }

  async #work(): Promise<void> {
    const giveTurn = takeTurns();
    let isUndone = false;
    do {
      await (isUndone ? giveTurn() : nextTurn());
      const rest = this.#ended + this.options.rest - performance.now();
      if (rest > 0) await Bun.sleep(rest);
      isUndone = await this.#runGroup();
    } while (this.#queue.length > 0);
    this.#loop = null;
  }

  /** @returns true if it was undone, as when its first job fails: without a commit, the next one needs no turn before it */
  async #runGroup(): Promise<boolean> {
    const outcomes: Outcome[] = [];
    try {
      this.options.refuse();
      await retryWhileBusy(this.options.busy_timeout, () => this.connection.begin("begin immediate"));
      this.#lastWrites.begin(this.connection.isAlone());
    } catch (error) {
      this.#rollback();
      const failure = this.connection.translate(error);
      for (const job of this.#queue.takeAll()) job.reject(failure);
      return false;
    }
    let turn = performance.now();
    const end = turn + LONGEST_GROUP;
    while (outcomes.length < LARGEST_GROUP && (outcomes.length === 0 || performance.now() < end)) {
      const isFirst = outcomes.length === 0;
      let job = performance.now() - turn > LONGEST_TURN ? undefined : this.#take(isFirst);
      if (!job) {
        await nextTurn();
        turn = performance.now();
        job = this.#take(isFirst);
      }
      // No new job arrived in this event-loop turn: commit now.
      if (!job) break;
      const begun = performance.now();
      const outcome = await (isFirst ? this.#runFirst(job) : this.#runNext(job));
      this.#lastWrites.note(job.owner, job.changes);
      if (!outcome) {
        job.isLong = true;
        this.#queue.postpone(job);
        break;
      }
      if (performance.now() - begun < LONGEST_TURN) this.#long.delete(job.owner);
      else this.#long.set(job.owner, (this.#long.get(job.owner) ?? 0) + 1);
      outcomes.push(outcome);
      if (!this.connection.inTransaction) {
        this.#groupLost(outcomes);
        return true;
      }
    }
    this.#commit(outcomes);
    return false;
  }

  /** Takes the job that is next. One of a large request begins a group, after one group of others that wait. */
  #take(isFirst: boolean): Job | undefined {
    const queue = this.#queue;
    const isSmall = ({ owner, isLong }: Job) => !isLong && (this.#long.get(owner) ?? 0) < LARGE;
    return isFirst ? (queue.take(({ waited }) => waited) ?? queue.take(isSmall) ?? queue.take()) : queue.take(isSmall);
  }

  // Without a savepoint: if it fails, the transaction has nothing else.
  async #runFirst(job: Job): Promise<Outcome> {
    try {
      return { job, value: await job.run(() => {}) };
    } catch (error) {
      this.#rollback();
      return { job, error };
    }
  }

  /** @returns null if the job is too long, and was undone */
  async #runNext(job: Job): Promise<Outcome | null> {
    let statements = 0;
    const tooLong = new Error("This needs a separate transaction");
    const count = () => {
      if (++statements > MOST_STATEMENTS) throw tooLong;
    };
    try {
      this.connection.run("savepoint job");
      const value = await job.run(count);
      // The job may have gone on without the statement.
      if (statements > MOST_STATEMENTS) throw tooLong;
      this.connection.run("release job");
      return { job, value };
    } catch (error) {
      this.#undoJob();
      return statements > MOST_STATEMENTS && this.connection.inTransaction ? null : { job, error };
    }
  }

  // If even this fails, the whole transaction is rolled back, and #runGroup sees that.
  #undoJob(): void {
    if (!this.connection.inTransaction) return;
    try {
      this.connection.run("rollback to job");
      this.connection.run("release job");
    } catch {
      this.#rollback();
    }
  }

  #rollback(): void {
    try {
      if (this.connection.inTransaction) this.connection.run("rollback");
    } catch {
      this.connection.markBroken();
    }
  }

  #commit(outcomes: Outcome[]): void {
    const start = performance.now();
    let isCommitted = false;
    let failed: { error: unknown } | null = null;
    try {
      this.connection.run("commit");
      isCommitted = true;
      this.options.verify();
    } catch (error) {
      this.#rollback();
      // If the log can't be synced, it holds the commit all the same: after a crash it may be played back.
      const mayBeDone = isCommitted || codeOf(error).startsWith("SQLITE_IOERR");
      const failure = this.connection.translate(error);
      failed = { error: mayBeDone ? inDoubt(failure) : failure };
    }
    if (!failed) this.options.committed(outcomes.length, performance.now() - start);
    this.#end();
    for (const outcome of outcomes) {
      if ("error" in outcome) outcome.job.reject(this.connection.translate(outcome.error));
      else if (failed) outcome.job.reject(failed.error);
      else outcome.job.resolve(outcome.value);
    }
  }

  // The first job failed, or a full disk inside a job rolled back the whole transaction: that one fails, even if it went on
  // after the error, and others run again.
  #groupLost(outcomes: Outcome[]): void {
    const last = outcomes.pop();
    const error = last && "error" in last ? last.error : new Error("The transaction was rolled back");
    last?.job.reject(this.connection.translate(error));
    this.#queue.putBack(outcomes.map((outcome) => outcome.job));
    this.#end();
  }

  // Before jobs are answered: the next part of a large request, which comes then, has not waited yet.
  #end(): void {
    this.#queue.forEach((job) => {
      job.waited = true;
    });
    this.options.ended();
    this.#lastWrites.end();
    this.#ended = performance.now();
  }
}
