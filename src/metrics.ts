// Hooks for metrics. They are called while requests wait: they must be quick and never throw.

export interface Metrics {
  /** A request was served; `route` is the pattern that it matched, null if none did. */
  served(request: { method: string; route: string | null; status: number; seconds: number }): void;
  /** A credential was refused. */
  unauthorized(reason: string): void;
  /** An app removed most of a list. */
  massRemoval(): void;
  /** A scheduled backup failed. */
  backupFailed(): void;
  /** A feed was fetched. */
  lookedUp(result: "read" | "unchanged" | "failed", seconds: number): void;
  /** One commit made this many write transactions durable. */
  committed(transactions: number, seconds: number): void;
}
