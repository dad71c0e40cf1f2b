export const handler = async (event) => ({
  batchItemFailures: event.Records.filter(({ body }) => JSON.parse(body).fail).map(({ messageId }) => ({ itemIdentifier: messageId })),
});
