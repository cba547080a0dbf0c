// The errors that services throw; HTTP and the commands translate them.

/** Why something was refused. A new code does not compile until every protocol and cli/main.ts map it. */
export type ErrorCode =
  | "unauthorized"
  | "forbidden"
  | "not_found"
  | "gone"
  | "invalid"
  | "conflict"
  | "method_not_allowed"
  | "too_large"
  | "too_many"
  | "internal"
  | "unavailable"
  | "config";

/** Whose credential was refused, as far as it is known. */
export interface Subject {
  user_id?: number;
  /** The user's name. */
  name?: string;
  /** The public id of a token. */
  token?: string;
}

interface ErrorExtras {
  /** Where and why, one line each; sent to clients, so without secrets. */
  details?: string[];
  /** Seconds after which a retry makes sense. */
  retry_after?: number;
  /** Whether the change may have been committed all the same, or a part of it was. */
  in_doubt?: boolean;
  /** RFC 6750 error code of a refused credential. */
  challenge?: "invalid_request" | "invalid_token" | "insufficient_scope";
  /** For the request log; never sent. */
  subject?: Subject | undefined;
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

/** The error for a database that can't be used now, and may be in a few seconds. */
export const unavailableNow = (message: string, cause?: unknown) =>
  new DomainError("unavailable", message, { retry_after: 5, cause });

/** Whether something that was thrown is a refusal with one of these codes. */
export const isRefusal = (error: unknown, ...codes: ErrorCode[]): error is DomainError =>
  error instanceof DomainError && codes.includes(error.code);

/** What `work` resolves to; null if it is refused with one of these codes. */
export const unlessRefused = <T>(work: Promise<T>, ...codes: ErrorCode[]): Promise<T | null> =>
  work.catch((error) => {
    if (isRefusal(error, ...codes)) return null;
    throw error;
  });

/** Adds to an error that its change may have been committed all the same, or in part. */
export function inDoubt(error: unknown): unknown {
  if (!(error instanceof DomainError)) return error;
  const { code, message, extras } = error;
  return new DomainError(code, message, { ...extras, in_doubt: true });
}

/** Adds to a refusal whose credential it was; keeps what is known already. */
export function addSubject(error: unknown, subject: Subject | undefined): unknown {
  if (!(error instanceof DomainError)) return error;
  const { code, message, extras } = error;
  return new DomainError(code, message, { ...extras, subject: { ...extras.subject, ...subject } });
}

/** Why TLS failed, by the codes of node:https and of Bun's fetch. */
export const TLS_REASONS: Record<string, string> = {
  CERT_HAS_EXPIRED: "its certificate has expired",
  CERT_NOT_YET_VALID: "its certificate is not valid yet",
  DEPTH_ZERO_SELF_SIGNED_CERT: "its certificate is self-signed",
  ERR_TLS_CERT_ALTNAME_INVALID: "its certificate is for another host",
  SELF_SIGNED_CERT_IN_CHAIN: "its certificate is from a CA that this machine does not trust",
  UNABLE_TO_GET_ISSUER_CERT: "its certificate chain is incomplete",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "its certificate is from an unknown CA, or the chain is incomplete",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "its certificate is from an unknown CA, or the chain is incomplete",
  EPROTO: "no TLS on this port",
  ERR_SSL_WRONG_VERSION_NUMBER: "no TLS on this port",
};

const DISK_FULL = "the disk is full";
const QUOTA_FULL = "the disk quota is used up";
const FULL = new Set<string | undefined>([DISK_FULL, QUOTA_FULL]);

const REASONS: Record<string, string> = {
  ...TLS_REASONS,
  EACCES: "permission denied",
  EADDRINUSE: "another program uses it",
  EADDRNOTAVAIL: "this machine does not have that address",
  EAI_AGAIN: "the name server does not respond",
  ECONNRESET: "the connection was closed",
  ECONNREFUSED: "connection refused",
  EDQUOT: QUOTA_FULL,
  EEXIST: "a file has that name",
  EHOSTUNREACH: "no route to the host",
  EISDIR: "it is a directory",
  ELOOP: "too many symbolic links",
  EMFILE: "too many open files",
  ENAMETOOLONG: "the name is too long",
  ENETUNREACH: "no route to the network",
  ENOENT: "no such file or directory",
  ENOSPC: DISK_FULL,
  ENOTFOUND: "the host name has no IP address",
  ENOTDIR: "a part of the path is not a directory",
  EPERM: "not permitted",
  EROFS: "the file system is read-only",
  ETIMEDOUT: "no response in time",
  ETXTBSY: "the program is running",
  SQLITE_BUSY: "another process has locked it",
  SQLITE_FULL: DISK_FULL,
  SQLITE_READONLY_DIRECTORY: "its directory can't be written by this account",
  // SQLite finds no room for the index of its log.
  SQLITE_IOERR_SHMSIZE: DISK_FULL,
  ConnectionRefused: "connection refused",
  ERR_POSTGRES_CONNECTION_CLOSED: "the connection was closed",
  ERR_POSTGRES_CONNECTION_FAILED: "the connection was closed",
  // The runtime does not say which.
  ERR_POSTGRES_CONNECTION_REFUSED: "connection refused, or the host name has no IP address",
  ERR_POSTGRES_CONNECTION_TIMEOUT: "no response in time",
  TimeoutError: "no response in time",
};

/** Why a system call or a request failed, in words. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const known = REASONS[codeOf(error)] ?? REASONS[error.name];
  // Unknown codes: the text between the code and the system call, without Bun's hint to programmers.
  return (
    known ??
    error.message
      .replace(/[.:]? For more information, pass `verbose: true`.*$/s, "")
      .replace(/^E[A-Z0-9]+: (.*), \w+(?: '.*')?$/s, "$1")
  );
}

/** Whether a full disk, or a quota that is used up, is the cause. */
export const isDiskFull = (error: unknown): boolean =>
  error instanceof Error && (FULL.has(REASONS[codeOf(error)]) || isDiskFull(error.cause));

/** The code of a system error; empty if it has none. */
export const codeOf = (error: unknown): string =>
  error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";

export const isTlsError = (error: unknown): boolean =>
  codeOf(error) in TLS_REASONS || /CERT|TLS|SSL|SIGNATURE|ISSUER/.test(codeOf(error));

/** The message of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
