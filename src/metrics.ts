// What the program tells whoever measures it. Hooks are called in the midst of work: they are quick and never throw.

export interface Metrics {
  /** A request was answered; `route` is the pattern that it matched, and null where there is none. */
  answered(request: { method: string; route: string | null; status: number; seconds: number }): void;
  /** A credential was refused, or an address had failed too often. */
  unauthorized(reason: string): void;
  /** This many write transactions became durable with one commit. */
  committed(transactions: number, seconds: number): void;
}
