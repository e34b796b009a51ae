use Fcntl;
sysopen(my $f, "x", O_RDWR | O_CREAT, 0200) or die "make: $!"; syswrite($f, "content"); unlink "x";
print sysopen(my $g, "/proc/self/fd/" . fileno($f), O_RDONLY | O_TRUNC) ? "opened\n" : "refused\n"; print -s $f, "\n";
chmod 0600, $f; print sysopen(my $h, "/proc/self/fd/" . fileno($f), O_RDONLY | O_TRUNC) ? "opened\n" : "refused\n"; print -s $f, "\n";
