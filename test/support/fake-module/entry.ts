import type { Answer, Order } from '../../../src/pkcs11/orders.ts';

// Stands for the process that has a module loaded. What it does with an order is in the label of its key.

const begun = process.hrtime.bigint();

process.on('message', ({ id, token, ...order }: Order & { id: number }) => {
  const answer = (text: string): void => {
    const bytes = new TextEncoder().encode(text);
    process.send?.({ id, type: 'bytes', bytes } satisfies Answer);
  };
  const refuse = (refusal: 'pin' | 'lost' | 'mechanism'): void => {
    process.send?.({ id, type: 'refused', refusal, message: 'as told' } satisfies Answer);
  };
  if (token.pin === 'wrong') return refuse('pin');
  switch (order.key.label) {
    case 'hang':
      for (;;);
    case 'die':
      process.kill(process.pid, 'SIGKILL');
      return;
    case 'lost':
      return refuse('lost');
    case 'cannot':
      return refuse('mechanism');
    default:
      answer(`${process.pid} ${begun}`);
  }
});
process.on('disconnect', () => process.exit(0));
