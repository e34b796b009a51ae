cat ~/.ssh/id_x && echo SAW key
cat ~/notes && echo SAW notes
perl -MIO::Socket::UNIX -e 'exit !IO::Socket::UNIX->new(Peer=>shift)' "$socket" && echo SAW socket
perl -MIO::Socket::INET -e 'exit !IO::Socket::INET->new(PeerAddr=>"127.0.0.1:".shift)' $port && echo SAW port
kill -0 $process && echo SAW process
grep -qs sleep /proc/$process/comm && echo SAW its name
echo changed >> ~/.cargo/env && echo SAW cargo
[ -n "$(ls -A "$runtime")" ] && echo SAW runtime
[ -e /run/carrel/host.sock ] && echo SAW protocol
unshare -Urm sh -c 'mount -t tmpfs x /mnt' && echo SAW mount
true
