// One user's state as the oracle keeps it, and the change clock (P1) under which it moves.

/** A subscription. Stamps are Unix milliseconds. */
export interface Entry {
  feedUrl: string;
  guid: string;
  isSubscribed: boolean;
  subscriptionChanged: number;
  guidChanged: number | undefined;
  deleted: number | undefined;
}

/** Where a guid leads, and since when it is not the current one any more. */
export interface GuidLead {
  entry: Entry;
  retired: number | undefined;
}

/** A request to delete an entry. */
export interface Deletion {
  id: number;
  entry: Entry;
  status: "PENDING" | "SUCCESS" | "FAILURE";
}

/** Gives the stamp that an entry bears for all its changes in the transaction at hand. */
export type Stamp = (entry: Entry) => number;

/** Everything that is kept for one user. */
export class State {
  clock = 0;
  readonly guids = new Map<string, GuidLead>();
  readonly feeds = new Map<string, Entry>();
  readonly deletions: Deletion[] = [];

  /** P1: runs one write transaction; every entry that takes a stamp in it gets the next one, once. */
  transact<T>(wall: number, work: (stamp: Stamp) => T): T {
    const given = new Map<Entry, number>();
    let last = this.clock;
    const stamp: Stamp = (entry) => {
      const own = given.get(entry) ?? Math.max(wall, last + 1);
      if (!given.has(entry)) last = own;
      given.set(entry, own);
      return own;
    };
    const result = work(stamp);
    this.clock = last;
    return result;
  }

  /** The subscription to which a current or an old guid leads. */
  byGuid(guid: string): Entry | undefined {
    return this.guids.get(guid)?.entry;
  }

  /** The deletion of an entry that is still to come. */
  pending(entry: Entry): Deletion | undefined {
    return this.deletions.find((deletion) => deletion.entry === entry && deletion.status === "PENDING");
  }

  /** All subscriptions, tombstones included. */
  entries(): Entry[] {
    return [...new Set([...this.guids.values()].map((lead) => lead.entry))];
  }
}

/** An entry's place in the change feed (P2). */
export function place(entry: Entry): number {
  return Math.max(entry.subscriptionChanged, entry.guidChanged ?? 0, entry.deleted ?? 0);
}
