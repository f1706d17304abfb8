export async function expandsBack(peer, cut) {}
