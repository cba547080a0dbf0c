// Work that requests leave behind, carried out while the server runs.

export interface Job {
  /** Does a part of the work. @returns whether there was any */
  step(): Promise<boolean>;
  /** Milliseconds until it looks again, unless it is woken. */
  pause(): Promise<number>;
  /** Logs what a step or a pause threw. @returns milliseconds until it tries again */
  failed(error: unknown): number;
}

/** Does nothing until it is started. */
export class BackgroundWorker {
  #timer: ReturnType<typeof setTimeout> | undefined;
  #running: Promise<void> | null = null;
  #wanted = false;
  #started = false;
  #stopped = false;

  constructor(readonly job: Job) {}

  /** Does what there is to do now, and later what comes. */
  start(): void {
    this.#started = true;
    this.wake();
  }

  /** Looks for work now. */
  wake(): void {
    if (!this.#started || this.#stopped) return;
    if (this.#running) {
      this.#wanted = true;
      return;
    }
    clearTimeout(this.#timer);
    this.#running = this.drain()
      .then(() => this.job.pause())
      .catch((error) => this.job.failed(error))
      .then((pause) => {
        this.#running = null;
        if (!this.#stopped) this.#timer = setTimeout(() => this.wake(), this.#wanted ? 0 : pause);
      });
  }

  /** Does all that there is to do. @throws what a step throws */
  async drain(): Promise<void> {
    do {
      this.#wanted = false;
      while (!this.#stopped && (await this.job.step()));
    } while (this.#wanted);
  }

  /** Ends the step in progress and starts no more. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#running;
  }
}
