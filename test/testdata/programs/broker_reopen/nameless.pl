use Fcntl;
sysopen(my $f, "x", O_RDWR | O_CREAT, 0600) or die "make: $!"; syswrite($f, "content");
sysopen(my $r, "x", O_RDONLY) or die "read: $!"; chmod 0404, "x"; unlink "x"; close $f;
sysopen(my $g, "/proc/self/fd/" . fileno($r), O_RDONLY | O_CREAT) or die "open: $!"; sysread($g, my $t, 100); print "$t\n";
print sysopen(my $h, "/proc/self/fd/" . fileno($r), O_RDWR) ? "opened to write\n" : "refused\n";
