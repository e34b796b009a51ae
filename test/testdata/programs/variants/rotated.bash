# Each part is one way in which the host brings a secret into the project while a command
# reads it: the set-up before the run, what is read inside, and what each turn does outside.
#= renamed over it
#- setup
env_ > .env
#- inside
.env
#- outside
in_ .env
#= renamed to where none was
#- inside
.env
#- outside
in_ .env; sleep .03; rm -f .env
#= written in place
#- setup
env_ > .env
#- inside
.env
#- outside
env_ > .env
#= written where none was
#- inside
.env
#- outside
env_ > .env; sleep .03; rm -f .env
#= appended
#- setup
echo A=1 > .env
#- inside
.env
#- outside
env_ >> .env
#= a link to another secret
#- setup
mkdir a b; env_ | tee a/.env > b/.env
#- inside
.env a/.env
#- outside
in_ a/.env; ln -sfn a/.env .env; ln -sfn b/.env .env
#= a link to another directory
#- inside
now/.env r*/.env
#- outside
mkdir r$I; in_ r$I/.env; ln -sfn r$I now; sleep .03; rm -rf r$I
#= a directory that takes another's place
#- setup
mkdir d; env_ > d/.env
#- inside
d/.env
#- outside
mkdir "$OUT/d"; env_ > "$OUT/d/.env"; mv d "$OUT/old"; mv "$OUT/d" d; rm -rf "$OUT/old"
#= two directories exchanged
#- setup
mkdir d; env_ > d/.env
#- inside
d/.env
#- outside
mkdir -p "$OUT/x"; env_ > "$OUT/x/.env"; py "L.renameat2(-100, (OUT + '/x').encode(), -100, b'd', 2)"
#= a new directory with one
#- inside
n*/.env
#- outside
mkdir "$OUT/n$I"; env_ > "$OUT/n$I/.env"; mv "$OUT/n$I" .
#= a new directory, and then one in it
#- inside
n*/*/.env
#- outside
mkdir -p n$I/b; env_ > n$I/b/.env
#= git checks out another branch
#- setup
git init -q .; git commit -q --allow-empty -m one
#- inside
.env
#- outside
env_ > "$OUT/blob"; B=$(git hash-object -w "$OUT/blob"); T=$(printf '100644 blob %s\t.env\n' $B | git mktree); git checkout -q $(git commit-tree -m x -p HEAD $T)
#= git stash pop
#- setup
git init -q .; echo a > .env; git add .env; git commit -q -m one
#- inside
.env
#- outside
env_ > .env; git stash -q; git stash pop -q; git checkout -q .env
#= rsync
#- setup
mkdir d
#- inside
d/.env d/.*
#- outside
mkdir -p "$OUT/src"; env_ > "$OUT/src/.env"; rsync -a "$OUT/src/" d/
#= rsync of another file
#- inside
.npmrc .*
#- outside
mkdir -p "$OUT/src"; echo "//r/:_authToken=$V" > "$OUT/src/.npmrc"; rsync -a "$OUT/src/" .
#= an editor that keeps the old one
#- setup
env_ > .netrc
#- inside
.netrc .*
#- outside
mv .netrc .netrc~; env_ > .netrc; rm .netrc~
#= an editor that writes beside it
#- setup
echo > .npmrc
#- inside
.npmrc .*
#- outside
for n in .npmrc.$((RANDOM + 100000)) .npmrc___jb_tmp___ .npmrc.aB3xYz .npmrc.tmp .npmrc.swp .npmrc~; do echo "//r/:_authToken=$V" > "$n"; mv "$n" .npmrc; done
#= a hard link
#- inside
.env
#- outside
env_ > "$OUT/f"; ln -f "$OUT/f" .env; sleep .03; rm .env "$OUT/f"
#= a file without a name gets one
#- inside
.env
#- outside
py "
f = os.open('.', os.O_TMPFILE | os.O_RDWR, 0o600); os.write(f, ('API_TOKEN=' + V).encode())
L.linkat(-100, b'/proc/self/fd/%d' % f, -100, b'.env', 0x400)"; sleep .03; rm -f .env
#= copied over it
#- setup
env_ > .env
#- inside
.env
#- outside
env_ > "$OUT/f"; cp --remove-destination "$OUT/f" .env; install "$OUT/f" .env; cat "$OUT/f" > .env; dd if="$OUT/f" of=.env conv=notrunc status=none
#= unpacked
#- inside
t/.env
#- outside
mkdir -p "$OUT/t"; env_ > "$OUT/t/.env"; tar cf - -C "$OUT" t | tar xf -; sleep .03; rm -rf t
#= written by a mapping
#- setup
truncate -s 100 .env
#- inside
.env
#- outside
py "
f = os.open('.env', os.O_RDWR); m = mmap.mmap(f, 100); m[:len(V)] = V.encode()"
#= a private key comes
#- inside
k.pem
#- outside
in_ k.pem key; sleep .03; rm k.pem
#= a private key takes a certificate's place
#- setup
echo '-----BEGIN CERTIFICATE-----' > k.pem
#- inside
k.pem
#- outside
in_ k.pem key; sleep .03; echo '-----BEGIN CERTIFICATE-----' > "$OUT/c"; mv "$OUT/c" k.pem
#= a private key is written slowly
#- inside
k.pem
#- outside
: > k.pem; sleep .03; key >> k.pem; sleep .03; rm k.pem
#= a token is written into an .npmrc
#- setup
echo 'registry=https://r.example/' > .npmrc
#- inside
.npmrc
#- outside
echo "//r/:_authToken=$V" > "$OUT/f"; mv "$OUT/f" .npmrc
#= Terraform applies
#- inside
terraform.tfstate terraform.tfstate.backup
#- outside
echo "{\"password\": \"$V\"}" > terraform.tfstate; cp terraform.tfstate terraform.tfstate.backup
#= a cluster logs in
#- inside
.kube/config
#- outside
mkdir -p .kube; printf 'users:\n- user:\n    token: %s\n' "$V" > "$OUT/f"; mv "$OUT/f" .kube/config
#= a remote gets a password
#- setup
git init -q .; git remote add o https://u:x8sj2kd9@example.com/x
#- inside
.git/config .git/config.lock
#- outside
git remote set-url o "https://u:$V@example.com/x"
#= its permissions come back
#- setup
env_ > .env; chmod 0 .env
#- inside
.env
#- outside
chmod 600 .env; env_ > .env; sleep .03; chmod 0 .env
#= its directory opens
#- setup
mkdir d; chmod 0 d
#- inside
d/.env
#- outside
chmod 700 d; env_ > d/.env; sleep .03; chmod 0 d
#= one more name each time
#- inside
.env.*
#- outside
env_ > .env.$I; in_ .env.local$I
#= moved out of what was installed
#- setup
mkdir -p node_modules/x
#- inside
api/.env
#- outside
mkdir -p "$OUT/api"; env_ > "$OUT/api/.env"; rm -rf api; mv "$OUT/api" node_modules/x/; mv node_modules/x/api .
#= a copy within the kernel
#- inside
.env
#- outside
env_ > "$OUT/f"; py "
a, b = os.open(OUT + '/f', os.O_RDONLY), os.open('.env', os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
os.copy_file_range(a, b, 999)"; sleep .03; rm .env
