// What the published Open Podcast API says of requests and responses, and what cleaning up needs of them.
import { z } from "zod";

const time = z.iso.datetime({ offset: true });

export const Subscription = z.looseObject({
  feed_url: z.string(),
  guid: z.guid(),
  is_subscribed: z.boolean(),
  subscription_changed: time.optional(),
  new_guid: z.guid().optional(),
  guid_changed: time.optional(),
  deleted: time.optional(),
});
export type Subscription = z.infer<typeof Subscription>;

export const Page = z.looseObject({
  total: z.number(),
  page: z.number(),
  per_page: z.number(),
  next: z.string().optional(),
  previous: z.string().optional(),
  subscriptions: z.array(Subscription),
});
export type Page = z.infer<typeof Page>;
export interface PageOf<Item> extends Pick<Page, "total" | "per_page"> {
  next?: string | null | undefined;
  subscriptions: Item[];
}
/** A page whose items may be malformed. */
export const Listed = Page.extend({ subscriptions: z.array(z.unknown()) });
export const Named = z.looseObject({ feed_url: z.string() });
/** What cleaning up needs of a subscription, also if the rest of it is wrong. */
const Removable = Named.extend({
  guid: z.string(),
  is_subscribed: z.unknown().optional(),
  deleted: z.unknown().optional(),
});
export const Removables = z
  .array(z.unknown())
  .catch([])
  .transform((all) => all.flatMap((one) => Removable.safeParse(one).data ?? []));
export const LoosePage = Page.extend({
  next: z.string().nullish(),
  previous: z.unknown().optional(),
  subscriptions: Removables,
});

export const Added = z.looseObject({
  success: z
    .array(
      z.looseObject({ feed_url: z.string(), guid: z.guid(), is_subscribed: z.boolean(), subscription_changed: time }),
    )
    .default([]),
  failure: z.array(z.looseObject({ feed_url: z.string(), message: z.string() })).default([]),
});
export type Added = z.infer<typeof Added>;

export const Patched = z.looseObject({
  new_feed_url: z.string().optional(),
  is_subscribed: z.boolean().optional(),
  subscription_changed: time.optional(),
  new_guid: z.guid().optional(),
  guid_changed: time.optional(),
});

export const Deleting = z.looseObject({ deletion_id: z.number().int().optional(), message: z.string() });
export const Deletion = z.looseObject({
  deletion_id: z.number().int(),
  status: z.enum(["SUCCESS", "PENDING", "FAILURE"]),
  message: z.string().optional(),
});
export const ErrorBody = z.looseObject({
  code: z.union([z.string(), z.number()]).transform(Number),
  message: z.string(),
});
