import os
top=os.open('.',os.O_DIRECTORY); fd=top; n='d'*200
for i in range(25):
    os.mkdir(n,dir_fd=fd); fd=os.open(n,os.O_DIRECTORY,dir_fd=fd)
os.rename('deep','deep',src_dir_fd=top,dst_dir_fd=fd)
