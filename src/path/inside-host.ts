// The name under which the door answers a sandbox about itself (src/gateway/inside/). Nothing else can have it.

export const insideHost = 'sallyport.internal';
