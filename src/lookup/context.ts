// What lookups need: the services of the program, and the network.
import { lookup as lookUpAddress } from "node:dns/promises";
import { networkInterfaces } from "node:os";
import type { App } from "../app.ts";
import type { Config } from "../config/settings.ts";
import { networkList } from "../domain/networks.ts";
import type { ChangeContext } from "../services/subscriptions/working-set.ts";
import { type FetchOptions, fetchFeedHead } from "./fetch.ts";
import type { LookupContext } from "./lookup.ts";

/** Milliseconds for one fetch. */
const TIMEOUT = 30_000;
const MOST_BYTES = 1_000_000;

/** How lookups reach the network. */
export type Network = Pick<FetchOptions, "resolve" | "interfaces">;

const systemNetwork: Network = {
  async resolve(host) {
    return (await lookUpAddress(host, { all: true })).map(({ address }) => address);
  },
  interfaces: () => Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []),
};

export type LookupApp = ChangeContext & Pick<App, "log" | "metrics">;

/** What bounds each fetch, by the settings. */
export const fetchLimits = (config: Pick<Config, "feed_lookup_allow">, network: Network = systemNetwork) => ({
  ...network,
  allowed: networkList(config.feed_lookup_allow),
  timeout: TIMEOUT,
  max_bytes: MOST_BYTES,
});

/** What lookups need, with the settings. @param signal ends fetches */
export function createLookupContext(app: LookupApp, signal: AbortSignal, network?: Network): LookupContext {
  const limits = { ...fetchLimits(app.config, network), signal };
  return {
    ...app,
    signal,
    async fetch(feed_url, { etag, last_modified }, items) {
      const begin = performance.now();
      const result = await fetchFeedHead(feed_url, { ...limits, etag, last_modified, ...(items && { items }) });
      app.metrics?.lookedUp(result.kind, (performance.now() - begin) / 1000);
      return result;
    },
  };
}
