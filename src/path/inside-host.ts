// The name under which the door answers a sandbox about itself (src/inside/). Nothing else can have it.

export const insideHost = 'sallyport.internal';
