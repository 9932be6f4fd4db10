/**
 * Hands over what is said in one turn of the event loop at its end, together: to wake another thread takes as long as a
 * short answer does.
 *
 * @param post sends them, in their order
 */
export function batched<Message>(
  post: (messages: readonly Message[]) => void,
): (message: Message) => void {
  let said: Message[] = [];
  return (message) => {
    said.push(message);
    if (said.length > 1) return;
    setImmediate(() => {
      const messages = said;
      said = [];
      post(messages);
    });
  };
}
