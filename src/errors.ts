// The one vocabulary of errors that services throw and every face (HTTP, CLI) translates.

/** Why something was refused. A new code does not compile until http/errors.ts and cli/main.ts map it. */
export type ErrorCode =
  | "unauthorized"
  | "not_found"
  | "gone"
  | "invalid"
  | "conflict"
  | "method_not_allowed"
  | "too_large"
  | "too_many"
  | "unavailable"
  | "config";

export interface ErrorExtras {
  /** Where and why, one line each; sent to clients, so never a secret. */
  details?: string[];
  /** Seconds after which trying again makes sense. */
  retry_after?: number;
  /** RFC 6750 error code of a refused credential. */
  challenge?: "invalid_request" | "invalid_token" | "insufficient_scope";
  /** Methods that the path does answer. */
  allow?: string[];
  cause?: unknown;
}

/** An expected refusal: code for programs, message for people. */
export class DomainError extends Error {
  override name = "DomainError";

  constructor(
    readonly code: ErrorCode,
    message: string,
    readonly extras: ErrorExtras = {},
  ) {
    super(message, { cause: extras.cause });
  }
}

/** The message of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
