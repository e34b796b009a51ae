// Package egress is the proxy and the name server of a filtered network, the only way out:
// it decides each connection by name, dials outside and copies. It accepts what programs
// inside send to one proxy address, to one DNS address and to the addresses that this DNS
// gives; it decides each connection and each plain HTTP request by name; it resolves,
// checks and dials outside; it copies; and it says what happened. It runs in the
// supervisor, on listeners that were made inside, one engine for each workspace.
//
// Its words:
//
//   - The pool (198.18.0.0/15) are the addresses inside. The first one is ours:
//     the proxy and the DNS server. Each other one stands for one name, given by
//     the first DNS answer for it. Nothing is resolved upstream by a question
//     from inside, so that names carry nothing out.
//   - A target is a host and a port, of a plain HTTP request also a method and a
//     path. It comes from CONNECT, from SOCKS5, from an absolute-form request, or
//     from the pool address that a program connected to (the transparent way).
//   - A grant is a target that the rules or a person allowed. Only a grant is
//     reached: its name is resolved once, each address is asked of the rules, and
//     an address that was asked for is dialled, never the name again.
//   - The opening is what a client sends first. TLS has to name the target in its
//     ClientHello; HTTP/1 is parsed, decided and written anew, request by request,
//     however the connection came; anything else is copied as it is.
//   - A refusal is ours: malformed, or against the rules. It is told to the program
//     in the words of its protocol, and is a denial. A failure is the network's.
//   - An [Attempt] says how one of these ended. Each is told once.
//
// The order of the files follows a connection: serve, http_serve and socks read
// what it wants; connect takes it there, with decide, ask and refusal, which settle
// it, and reach and upstream, which dial; opening, hello and tunnel look at what is
// said and copy it; http_head, http_exchange and http_write do so for plain HTTP.
// dns, pool and front are the transparent way.
//
// What it cannot hold: a server that answers for several names (a CDN) decides by
// what is said inside TLS, which is not read on the way; an encrypted ClientHello
// looks like the grease that browsers always send; a protocol that begins in the
// clear and turns to TLS later is copied. A listed host is trusted to be one host.
//
// The package imports policy and no other room of this module.
package egress
