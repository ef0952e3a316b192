from dragoman import Agent
agent = Agent("Haiku", "Writes a haiku on any subject.")

@agent.skill
async def haiku(subject: str) -> str:
    return f"{subject}, once again:\nthe road goes on without us\nand the moon looks on."
