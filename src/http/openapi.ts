// What OpenAPI documents have in common: headers of error responses.

export const describeHeader = (description: string, schema: object) => ({ description, schema });

/** @param example of a challenge */
export const describeChallenge = (example: string) =>
  describeHeader("Why the credential was refused (RFC 6750)", { type: "string", examples: [example] });

export const RETRY_AFTER = describeHeader("Seconds after which to send the request again", {
  type: "integer",
  minimum: 1,
});
