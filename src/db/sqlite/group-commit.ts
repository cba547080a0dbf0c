// Group commit: the transactions that are waiting share one commit, and so one fsync (P7).

/** What the writer needs of an engine with one writing connection. */
export interface GroupEngine {
  /** Begins a transaction; waits for other processes for a bounded time. */
  begin(): Promise<void>;
  /** Runs one statement of transaction control. */
  control(sql: string): void;
  inTransaction(): boolean;
  /** Called after each group, whether it was committed or not. */
  ended(): void;
  /** Called after each commit with the number of jobs in it and the milliseconds that it took. */
  committed?(jobs: number, duration: number): void;
  /**
   * Gives the error that the caller of a job gets, and has the next begin() use a new connection where this one can't be
   * trusted any more. Never throws.
   */
  failed(error: unknown): unknown;
}

interface Job {
  run(): Promise<unknown>;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

type Outcome = { job: Job; value: unknown } | { job: Job; error: unknown };

const LARGEST_GROUP = 256;
/** Milliseconds after which a group takes no further job, so that a large one does not hold up the others. */
const LONGEST_GROUP = 50;
/** Milliseconds of work after which a group lets the event loop turn, so that readers are answered meanwhile. */
const LONGEST_TURN = 5;

/** Takes jobs and runs them in groups, each job in a savepoint of its own. */
export class GroupWriter {
  #queue: Job[] = [];
  #loop: Promise<void> | null = null;

  constructor(private readonly engine: GroupEngine) {}

  /** Resolves with the job's result once the commit that holds it is done. */
  run<T>(work: () => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#queue.push({ run: work, resolve: (value) => resolve(value as T), reject });
      this.#loop ??= this.#work();
    });
  }

  /** Resolves when nothing is waiting any more. */
  async idle(): Promise<void> {
    while (this.#loop) await this.#loop;
  }

  get waiting(): number {
    return this.#queue.length;
  }

  async #work(): Promise<void> {
    do {
      await nextTurn();
      await this.#runGroup();
    } while (this.#queue.length > 0);
    this.#loop = null;
  }

  async #runGroup(): Promise<void> {
    const outcomes: Outcome[] = [];
    try {
      await this.engine.begin();
    } catch (error) {
      const failure = this.engine.failed(error);
      for (const job of this.#queue.splice(0)) job.reject(failure);
      return;
    }
    let turn = performance.now();
    const end = turn + LONGEST_GROUP;
    while (outcomes.length < LARGEST_GROUP && (outcomes.length === 0 || performance.now() < end)) {
      if (this.#queue.length === 0 || performance.now() - turn > LONGEST_TURN) {
        await nextTurn();
        turn = performance.now();
      }
      const job = this.#queue.shift();
      // A whole turn has brought nothing more: whoever else is about to write has got no answer yet.
      if (!job) break;
      outcomes.push(await this.#runJob(job));
      if (!this.engine.inTransaction()) {
        this.#groupLost(outcomes);
        return;
      }
    }
    this.#commit(outcomes);
  }

  async #runJob(job: Job): Promise<Outcome> {
    try {
      this.engine.control("savepoint job");
      const value = await job.run();
      this.engine.control("release job");
      return { job, value };
    } catch (error) {
      this.#undoJob();
      return { job, error };
    }
  }

  // Where not even that works, the whole transaction goes, and #runGroup sees that it is gone.
  #undoJob(): void {
    if (!this.engine.inTransaction()) return;
    try {
      this.engine.control("rollback to job");
      this.engine.control("release job");
    } catch {
      this.#rollback();
    }
  }

  #rollback(): void {
    try {
      if (this.engine.inTransaction()) this.engine.control("rollback");
    } catch (error) {
      this.engine.failed(error);
    }
  }

  #commit(outcomes: Outcome[]): void {
    const start = performance.now();
    let refused: { error: unknown } | null = null;
    try {
      this.engine.control("commit");
    } catch (error) {
      this.#rollback();
      refused = { error };
    }
    if (!refused) this.engine.committed?.(outcomes.length, performance.now() - start);
    this.engine.ended();
    for (const outcome of outcomes) {
      const failure = "error" in outcome ? outcome : refused;
      if (failure) outcome.job.reject(this.engine.failed(failure.error));
      else if ("value" in outcome) outcome.job.resolve(outcome.value);
    }
  }

  // A full disk inside a job rolls the whole transaction back: the job that met it fails, the others run again.
  #groupLost(outcomes: Outcome[]): void {
    const last = outcomes.pop();
    if (last && "error" in last) last.job.reject(this.engine.failed(last.error));
    this.#queue.unshift(...outcomes.map((outcome) => outcome.job));
    this.engine.ended();
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
