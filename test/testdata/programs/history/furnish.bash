mkdir -p src/deep/er empty; printf 'node_modules\nbuild\n*.log\n' > .gitignore
for i in $(seq 30); do echo "int f$i(void) { return $i; }" > src/f$i.c; done; echo 'int main(void) { return 0; }' > src/main.c
printf 'all: build/main.o build/f1.o\nbuild/%%.o: src/%%.c\n\tmkdir -p build; cc -c $< -o $@\n' > Makefile
echo ignored > a.log; echo deep > src/deep/er/file; ln -s ../main.c src/deep/link; ln -s nowhere src/dangling; ln src/f1.c src/second; ln src/f1.c empty/third
mkfifo src/pipe; chmod 400 src/f2.c; chmod 750 src/deep; touch -d '2001-02-03 04:05:06.789' src/f3.c src/deep/er; truncate -s 1M src/sparse; echo end >> src/sparse
printf x > "$(printf 'src/odd\n\377\\ name')"; printf y > ./-dash; chmod 1777 empty; setfacl -m u:$(id -u):r src/f4.c
python3 -c 'import os; os.setxattr("src/f5.c", "user.note", b"kept"); os.setxattr("src/deep", "user.dir", b"\x00\xff")'
git add -A; git commit -qm two; echo three >> file; git commit -qam three; git checkout -qb topic HEAD~1; echo t > topic; git add topic; git commit -qm topic; git checkout -q main; chmod 400 src/f2.c
