set -e; m() { /run/carrel/bin/carrel step "$@"; }
m begin --label first; echo 2 > a; m end
m begin --label second; exec 5>> log; echo one >&5; m end
echo two >&5
m begin --label third; echo three >&5; echo x > b
m begin --label beside; echo 3 > a; m end; m end
m end
