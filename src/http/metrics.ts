// Metrics for Prometheus, on a separate address.
import { Counter, Gauge, Histogram, Registry } from "prom-client";
import type { App } from "../app.ts";
import { messageOf } from "../errors.ts";
import type { Metrics } from "../metrics.ts";
import { type Counts, readStatus } from "../services/status.ts";
import { VERSION } from "../version.ts";
import { within } from "../within.ts";
import { pathOf } from "./path.ts";

/** Upper bounds in seconds: a poll takes well under a millisecond, a commit on an SD card some tens. */
const DURATIONS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5];
const FETCHES = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const GROUPS = [1, 2, 4, 8, 16, 32, 64, 128, 256];

export interface MetricsEndpoint {
  metrics: Metrics;
  /** Responds to a request to the metrics endpoint. */
  fetch(app: App, request: Request): Promise<Response>;
}

/** Creates the metrics: those of events count from now on, the others are read at each request. */
export function createMetricsEndpoint(newestBackup: NewestBackup = async () => null): MetricsEndpoint {
  const counted = new Registry();
  const readProcess = createProcessGauges();
  const readDatabase = createDatabaseGauges();
  const readBackups = createBackupGauge(newestBackup);
  return {
    metrics: createHooks(counted),
    async fetch(app, request) {
      if (pathOf(request) !== "/metrics") return new Response("See /metrics\n", { status: 404 });
      const parts = await Promise.all([counted.metrics(), readProcess(), readDatabase(app), readBackups()]);
      return new Response(parts.join("\n"), { headers: { "Content-Type": Registry.PROMETHEUS_CONTENT_TYPE } });
    },
  };
}

function createHooks(registry: Registry): Metrics {
  const registers = [registry];
  const counter = (name: string, help: string, labelNames: string[] = []) =>
    new Counter({ name, help, labelNames, registers });
  const histogram = (name: string, help: string, buckets: number[], labelNames: string[] = []) =>
    new Histogram({ name, help, labelNames, buckets, registers });
  const requests = histogram(
    "podkeep_http_request_duration_seconds",
    "Requests and how long they took, by route pattern; empty for unknown paths",
    DURATIONS,
    ["method", "route", "status"],
  );
  // Without labels, so that it is 0 before the first error: Prometheus sees a burst only as growth.
  const errors = counter("podkeep_http_errors_total", "Requests that failed with a status from 500");
  const failures = counter("podkeep_auth_failures_total", "Requests whose credential was refused, by reason", [
    "reason",
  ]);
  const massRemovals = counter(
    "podkeep_mass_removals_total",
    "Times that an app removed more than half of a list of ten or more podcasts within an hour",
  );
  const backupFailures = counter("podkeep_backup_failures_total", "Scheduled backups that failed");
  const lookups = histogram(
    "podkeep_feed_lookup_duration_seconds",
    "Fetches of feeds and how long they took, by result",
    FETCHES,
    ["result"],
  );
  for (const result of ["read", "unchanged", "failed"]) lookups.zero({ result });
  const commits = histogram(
    "podkeep_commit_duration_seconds",
    "Commits of write transactions and how long they took",
    DURATIONS,
  );
  const groups = histogram("podkeep_commit_transactions", "Write transactions that shared a commit", GROUPS);
  return {
    served({ method, route, status, seconds }) {
      requests.observe({ method, route: route ?? "", status }, seconds);
      if (status >= 500) errors.inc();
    },
    unauthorized: (reason) => failures.inc({ reason }),
    massRemoval: () => massRemovals.inc(),
    backupFailed: () => backupFailures.inc(),
    lookedUp: (result, seconds) => lookups.observe({ result }, seconds),
    committed(transactions, seconds) {
      commits.observe(seconds);
      groups.observe(transactions);
    },
  };
}

function gaugesOf(registry: Registry) {
  return (name: string, help: string, labelNames: string[] = []) =>
    new Gauge({ name, help, labelNames, registers: [registry] });
}

type NewestBackup = () => Promise<number | null>;

/** Milliseconds in which a directory is read, if its disk responds. */
const READ = 1000;

/** Absent while it can't be known: data on PostgreSQL, or a backup directory that can't be read. */
function createBackupGauge(newestBackup: NewestBackup): () => Promise<string> {
  const registry = new Registry();
  const name = "podkeep_backup_newest_timestamp_seconds";
  const gauge = gaugesOf(registry)(name, "When the newest backup was made, in Unix seconds; 0 if there is none");
  return async () => {
    const time = await within(READ, newestBackup());
    if (time === null) return "";
    gauge.set(time / 1000);
    return registry.metrics();
  };
}

function createProcessGauges(): () => Promise<string> {
  const registry = new Registry();
  const gauge = gaugesOf(registry);
  gauge("podkeep_build_info", "Always 1, with the version as a label", ["version"]).set({ version: VERSION }, 1);
  gauge("process_start_time_seconds", "Start of the process in Unix seconds").set(performance.timeOrigin / 1000);
  const memory = gauge("process_resident_memory_bytes", "Resident memory");
  const cpu = new Counter({
    name: "process_cpu_seconds_total",
    help: "Processor time",
    registers: [registry],
  });
  return () => {
    const { user, system } = process.cpuUsage();
    memory.set(process.memoryUsage.rss());
    cpu.reset();
    cpu.inc((user + system) / 1e6);
    return registry.metrics();
  };
}

// If the database can't be read, only podkeep_database_up is served: old values would look new.
function createDatabaseGauges(): (app: App) => Promise<string> {
  const [availability, registry] = [new Registry(), new Registry()];
  const up = gaugesOf(availability)(
    "podkeep_database_up",
    "1 if the database can be read and is the file on disk, else 0",
  );
  const gauge = gaugesOf(registry);
  const waiting = gauge("podkeep_write_queue_length", "Write transactions that wait for their turn");
  const bytes = gauge("podkeep_database_size_bytes", "Size of the database");
  const walBytes = gauge("podkeep_wal_size_bytes", "Size of SQLite's write-ahead log");
  const users = gauge("podkeep_users", "Users");
  const subscriptions = gauge("podkeep_subscriptions", "Subscriptions that are neither deleted nor unsubscribed");
  const deletions = gauge("podkeep_deletions", "Deletions by status", ["status"]);
  const oldest = gauge("podkeep_deletion_oldest_pending_seconds", "Age of the oldest pending deletion; 0 without one");
  const feeds = gauge("podkeep_feeds", "Feeds by what their last lookup found", ["state"]);
  let counts: Counts | undefined;
  return async (app) => {
    try {
      await app.database.check();
      const status = await readStatus(app, counts);
      counts = status.counts;
      waiting.set(status.waiting);
      bytes.set(status.bytes);
      walBytes.set(status.wal_bytes);
      users.set(status.users);
      subscriptions.set(status.subscriptions);
      for (const [name, count] of Object.entries(status.deletions)) deletions.set({ status: name }, count);
      for (const [state, count] of Object.entries(status.feeds)) feeds.set({ state }, count);
      oldest.set(status.oldest_pending / 1000);
    } catch (error) {
      app.log.error({ reason: messageOf(error) }, "metrics can't be read from the database");
      up.set(0);
      return availability.metrics();
    }
    up.set(1);
    return `${await availability.metrics()}\n${await registry.metrics()}`;
  };
}
