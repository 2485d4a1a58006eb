// The client went away before its answer was complete. Not a refusal and not a fault: nobody is left to tell.

export class ClientGone extends Error {
  override readonly name = 'ClientGone';

  constructor() {
    super('the client went away before the answer was complete');
  }
}
