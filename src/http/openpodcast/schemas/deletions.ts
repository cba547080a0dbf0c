// Wire format of deletions, with the texts that the Open Podcast API publishes.
import { z } from "zod";
import { once } from "../../../once.ts";

export const RECEIVED = "Deletion request was received and will be processed";
export const MESSAGES = {
  PENDING: "Deletion is pending",
  SUCCESS: "Subscription deleted successfully",
  FAILURE: "The deletion process encountered an error and was rolled back",
} as const;

const deletion_id = () => z.int().meta({ example: 1 });

export const Success = once(() =>
  z
    .object({ deletion_id: deletion_id(), message: z.string().meta({ example: RECEIVED }) })
    .meta({ id: "Success", example: { deletion_id: 1, message: RECEIVED } }),
);

export type Success = z.infer<ReturnType<typeof Success>>;

export const Deletion = once(() =>
  z
    .object({
      deletion_id: deletion_id(),
      status: z.enum(["SUCCESS", "PENDING", "FAILURE"]),
      message: z
        .string()
        .optional()
        .meta({ description: "What the status means, and why it failed", example: MESSAGES.SUCCESS }),
    })
    .meta({ id: "Deletion", example: { deletion_id: 1, status: "SUCCESS", message: MESSAGES.SUCCESS } }),
);

export type Deletion = z.infer<ReturnType<typeof Deletion>>;
