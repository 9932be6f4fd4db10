/** Said by the entry of a thread whose orders have a deadline once all that it imports is there, in place of an answer. */
export const STARTED = { id: -1 };
